-- The twin of slidingwindow.go: sliding_window_counter.
-- A cell is the instant of the last charge, the cost charged in its window, and
-- that in the window before.
-- p: limit, window, tick, ticks

local function up(a, b)
  return floor((a + b - 1) / b)
end

local function endOf(t, window)
  return t - t % window + window
end

-- counts returns the counts of the window of time and of the one before.
local function counts(at, used, prior, window, time)
  local start = time - time % window
  if at >= start then
    return used, prior
  end
  if at >= start - window then
    return 0, used
  end
  return 0, 0
end

-- weighed is the part of previous that still counts at time, rounded up.
local function weighed(previous, p, time)
  if previous == 0 then
    return 0
  end
  local left = p[4] - floor(time % p[2] / p[3])
  return up(min(previous, floor(MAX / p[4])) * left, p[4])
end

local function take(at, used, prior, p, now, cost, forced)
  local limit, window = p[1], p[2]
  if limit == 0 then
    return forced or cost < 0, at, used, prior
  end
  local time, moved = now, at
  if at > now then
    if used + prior > 0 and at - now <= endOf(at, window) + window - at then
      time = at
    else
      moved = now
    end
  end
  local current, previous = counts(moved, used, prior, window, time)
  local n, after, ok = max(cost, 1), 0, true
  if cost < 0 then
    local back = -max(cost, -MAX)
    previous = max(0, previous - max(0, back - current))
    after = max(0, current - back)
  elseif forced then
    after = min(current + min(n, MAX), MAX)
  else
    after = current + min(n, MAX)
    ok = n <= limit - current - weighed(previous, p, time)
  end
  if cost == 0 then
    return ok, at, used, prior
  end
  if ok then
    return true, time, after, previous
  end
  return false, moved, used, prior
end

local function expires(at, used, prior, p)
  if used + prior == 0 or p[1] == 0 then
    return 0, 0
  end
  local ends = endOf(at, p[2])
  if used > 0 then
    ends = ends + p[2]
  end
  return ends, ends
end

local function owes(at, used, prior, p)
  if used + prior == 0 or p[1] == 0 then
    return nil
  end
  if not p[4] then
    p[3] = up(p[2], floor(MAX / p[1]))
    p[4] = up(p[2], p[3])
  end
  local most, left = floor(MAX / p[4]), p[4] - floor(at % p[2] / p[3])
  return at, min(MAX, min(used, most) * p[4] + min(prior, most) * left), p[1], p[4], p[3]
end

local function assume(at, owed, _, price, _, p)
  if owed == 0 or p[1] == 0 then
    return 0, 0, 0, owed == 0
  end
  local n = up(owed, price)
  local used = min(n, p[1])
  local elapsed = floor(at % p[2] / p[3])
  local current = up(used * elapsed, p[4])
  return at, current, up((used - current) * p[4], p[4] - elapsed), n <= p[1]
end

local function convert(at, used, prior, old, p)
  if old[2] == p[2] and old[1] > 0 and used <= p[1] - weighed(prior, p, at) then
    return at, used, prior, true
  end
  local a, owed, gain, price, tick = owes(at, used, prior, old)
  return assume(a, owed or 0, gain, price, tick, p)
end

-- back gives up to cost back that was charged at the instant time.
local function back(at, used, prior, p, _, cost, time)
  local ends = endOf(time, p[2])
  if endOf(at, p[2]) == ends then
    used = max(0, used - cost)
  elseif endOf(at, p[2]) == ends + p[2] then
    prior = max(0, prior - cost)
  end
  return at, used, prior
end

local function capacity(p)
  return p[1]
end

return {
  take = take, expires = expires, capacity = capacity, back = back,
  owes = owes, assume = assume, convert = convert,
  zero = 0, params = 2, three = true,
  narrow = '<BI5I7I3I3I3I5', below = 2^24, below1 = 2^24, below2 = 2^40, below3 = 2^53,
  size = 27, cell = '<BI5I7I3I3c8', words = '<I7I3I3', tail = '<I3I5',
  wide = '<BI5I7I7I7I7I7',
}
