-- The charge of a call that has no other, whose policy's values are narrow: what the
-- general script does of it, in one go. ARGV[1] is the instant in microseconds, 0 for the
-- server's; milliseconds to keep more; the cost; an odd number if it is forced; four
-- params; and what a value under these params ends in.
--
-- The answer is the instant, whether the charge fits and the cell that it met. It is
-- empty, and nothing has changed, if the bucket is unusual: then the general script has to
-- settle the charge.

local call, key = redis.call, KEYS[1]
local now, slack, cost, flags, p1, p2, p3, p4, tail = unpack('<dd' .. ASKED, ARGV[1])
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local value = redis.pcall('GET', key)
local head, exp, at, used, prior, ending = nil, 0, 0, 0, 0, nil
if value then
  -- An error has no length.
  if #value ~= SIZE then
    return ''
  end
  head, exp, at, used, prior, ending = unpack(CELL, value)
  if not THREE then
    prior, ending = 0, prior
  end
  if ending ~= tail or head ~= HEAD then
    return ''
  end
end

local p = {p1, p2, p3, p4}
local fit, a, u, b = take(at, used, prior, p, now, cost, flags % 2 == 1)
local kept = value and not fit
if cost ~= 0 and (a ~= at or u ~= used or b ~= prior) then
  kept = false
  local ends, keep = expires(a, u, b, p)
  if ends <= now then
    if value then
      call('DEL', key)
    end
  elseif u >= BELOW or b >= BELOW then
    return ''
  else
    if value and exp * 1000000 >= ends then
      call('SETRANGE', key, '6', pack(WORDS, a, u, b))
      kept = true
    else
      local px = floor((keep - now + 999) / 1000) + 4000 + slack
      exp = floor((now + px * 1000) / 1000000)
      if THREE then
        value = pack(CELL, HEAD, exp, a, u, b, tail)
      else
        value = pack(CELL, HEAD, exp, a, u, tail)
      end
      call('SET', key, value, 'PX', px)
    end
  end
end
if kept and call('PTTL', key) == -1 then
  -- Somebody has taken the expiry away.
  call('PEXPIRE', key, max(0, floor(exp * 1000 - now / 1000)) + 1000 + slack)
end
return pack('<d' .. TOLD, now, fit and 1 or 0, at, used, prior)
