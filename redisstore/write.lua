-- mend gives bucket k an expiry again that somebody has taken away: the moment that is
-- kept in the value.
local function mend(k, exp)
  call('PEXPIRE', keys[k], max(0, floor(exp * 1000 - now / 1000)) + 1000 + slack)
end

-- What rest makes: L, and of that debtEnds, the instant from which nothing is owed.
local L, debtEnds

-- write makes bucket k what it has become. The moment of expiry is kept in the
-- value and moved only when what remains is too short. Where neither that nor the
-- length changes, the bytes are replaced, which costs less than a new value.
-- d is the debt to keep beside it.
local function write(k, exp, at, used, prior, p, d)
  local t, value = p.twin, values[k]
  local ends, keep = t.expires(at, used, prior, p)
  if d then
    local gone = debtEnds(d)
    ends, keep = max(ends, gone), max(keep, gone)
  end
  if ends <= now then
    if value then
      call('DEL', keys[k])
    end
    return
  end
  local px
  if exp * 1000000 < ends or not value then
    px = floor((keep - now + 999) / 1000) + 4000 + slack
    exp = floor((now + px * 1000) / 1000000)
  end
  if t.list then
    return L.writeLog(k, exp, px, at, p, d)
  end
  local new
  if used < p.below and prior < p.below then
    if t.three then
      new = pack(t.cell, p.head, exp, at, used, prior, p.tail)
    else
      new = pack(t.cell, p.head, exp, at, used, p.tail)
    end
  elseif t.three then
    new = pack(t.wide, p.head + 1, exp, at, used, prior, p[1], p[2])
  else
    new = pack(t.wide, p.head + 1, exp, at, used, p[1], p[2], p[3], p[4], p[5])
  end
  if d then
    new = new .. pack(DEBT, d.at, d.owed, d.gain, d.price, d.tick)
  end
  if px then
    call('SET', keys[k], new, 'PX', px)
    return
  elseif #new == #value then
    call('SETRANGE', keys[k], '0', new)
  else
    call('SET', keys[k], new, 'KEEPTTL')
  end
  if call('PTTL', keys[k]) == -1 then
    mend(k, exp)
  end
end

