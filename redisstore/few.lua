-- The charges of a call that has one request, where each has a bucket of its own and
-- all have the same twin, whose values are narrow: what the general script does of them, in one
-- go. ARGV[1] is the instant in microseconds, 0 for the server's; milliseconds to
-- keep more; and for each charge the cost, 1 if it is forced, 2 more if it is a
-- shadow, four params, and what a value under these params ends in.
--
-- The answer is the instant, and for each charge whether it fits and the cell that it
-- met. It is empty, and nothing has changed, if a bucket is unusual: then the general script
-- has to settle the charges.

local call, keys, arg = redis.call, KEYS, ARGV[1]
local now, slack, pos = unpack('<dd', arg)
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local count, values = #keys, nil
if count == 1 then
  -- An error has no length.
  values = {redis.pcall('GET', keys[1])}
else
  values = call('MGET', spread(keys))
end

-- What to write, for how long if that changes, and whether it was a charge that fits;
-- the expiry of a key that is kept as it is or written in place.
local new, life, fits, kept, absent, refused = {}, {}, {}, {}, nil, false
local told, n = {now}, 1
for i = 1, count do
  local cost, flags, p1, p2, p3, p4, tail
  cost, flags, p1, p2, p3, p4, tail, pos = unpack('<' .. ASKED, arg, pos)
  local value, head, exp, at, used, prior, ending = values[i], nil, 0, 0, 0, 0, nil
  if value then
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
  elseif count > 1 then
    absent = absent or {}
    absent[#absent + 1] = keys[i]
  end
  local p = {p1, p2, p3, p4}
  local fit, a, u, b = take(at, used, prior, p, now, cost, flags % 2 == 1)
  refused = refused or not fit and flags < 2
  told[n + 1], told[n + 2], told[n + 3] = fit and 1 or 0, at, used
  n = n + 3
  if THREE then
    n = n + 1
    told[n] = prior
  end
  if cost ~= 0 and (a ~= at or u ~= used or b ~= prior) then
    local ends, keep = expires(a, u, b, p)
    fits[i] = fit
    if ends <= now then
      new[i] = value and ''
    elseif u >= BELOW or b >= BELOW then
      return ''
    else
      if value and exp * 1000000 >= ends then
        kept[i], new[i] = exp, pack(WORDS, a, u, b)
      else
        life[i] = floor((keep - now + 999) / 1000) + 4000 + slack
        exp = floor((now + life[i] * 1000) / 1000000)
        if THREE then
          new[i] = pack(CELL, HEAD, exp, a, u, b, tail)
        else
          new[i] = pack(CELL, HEAD, exp, a, u, tail)
        end
      end
    end
  elseif not fit and value then
    kept[i] = exp
  end
end
if absent and call('EXISTS', spread(absent)) > 0 then
  return ''
end

for i = 1, count do
  local exp = kept[i]
  if refused and fits[i] then
    exp = nil
  elseif new[i] then
    if life[i] then
      call('SET', keys[i], new[i], 'PX', life[i])
    elseif new[i] == '' then
      call('DEL', keys[i])
    else
      call('SETRANGE', keys[i], '6', new[i])
    end
  end
  if exp and call('PTTL', keys[i]) == -1 then
    -- Somebody has taken the expiry away.
    call('PEXPIRE', keys[i], max(0, floor(exp * 1000 - now / 1000)) + 1000 + slack)
  end
end
return pack('<d' .. rep(TOLD, count), spread(told))
