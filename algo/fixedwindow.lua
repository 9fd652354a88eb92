-- The twin of fixedwindow.go: fixed_window.
-- A cell is the instant of the last charge and the cost charged in its window.
-- p: limit, window

local function take(at, used, _, p, now, cost, forced)
  local limit, window = p[1], p[2]
  if limit == 0 then
    return forced or cost < 0, at, used, 0
  end
  local count, time, moved = used, now, at
  if at > now then
    if used > 0 and at - now <= window then
      time = at
    else
      moved = now
    end
  elseif at < now - now % window then
    count = 0
  end
  if cost == 0 then
    return forced or 1 <= limit - count, at, used, 0
  end
  if cost < 0 then
    return true, time, max(0, count + max(cost, -MAX)), 0
  end
  if forced then
    return true, time, min(count + min(cost, MAX), MAX), 0
  end
  if cost <= limit - count then
    return true, time, count + cost, 0
  end
  return false, moved, used, 0
end

local function expires(at, used, _, p)
  if used == 0 or p[1] == 0 then
    return 0, 0
  end
  local ends = at - at % p[2] + p[2]
  return ends, ends
end

local function owes(at, used, _, p)
  return windowDebt(at, used, p)
end

local function assume(at, owed, _, price, _, p)
  if owed == 0 or p[1] == 0 then
    return 0, 0, 0, owed == 0
  end
  return at, min(up(owed, price), p[1]), 0, false
end

local function convert(at, used, _, old, p)
  if used == 0 or old[1] == 0 or p[1] == 0 then
    return 0, 0, 0, used == 0 or old[1] == 0
  end
  return at, used, 0, p[2] % old[2] == 0
end

-- back gives up to cost back that was charged at the instant time.
local function back(at, used, _, p, _, cost, time)
  if at - at % p[2] ~= time - time % p[2] then
    return at, used, 0
  end
  return at, max(0, used - cost), 0
end

local function capacity(p)
  return p[1]
end

return {
  take = take, expires = expires, capacity = capacity, back = back,
  owes = owes, assume = assume, convert = convert,
  zero = 0, params = 2,
  narrow = '<BI5I7I5I5I5', below = 2^40, below1 = 2^40, below2 = 2^40, below3 = 1,
  size = 28, cell = '<BI5I7I5c10', words = '<I7I5', tail = '<I5I5',
  wide = '<BI5I7I7I7I7',
}
