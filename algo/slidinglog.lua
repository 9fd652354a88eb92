-- The twin of slidinglog.go: sliding_window_log.
-- A log is a table that never changes. Its entries, oldest first, have the positions
-- from first to last - 1. entry(log, position) tells the instant of one and the sum of
-- all costs up to it, which wraps around at 2^53 and is base before the first and sum
-- with the last one; oldest and newest are the instants of these two. src is where the
-- entries before stored are, top the last of those from there on, each with prev. So
-- a log is asked, added to and cut in a time that hardly grows with its length.
-- Because the log may be long, the verdict is told here: what remains, the waits for a
-- retry, a reset, the next.
-- p: limit, window

local WRAP = 2^53

local function plus(sum, cost)
  if sum >= WRAP - cost then
    return sum - (WRAP - cost)
  end
  return sum + cost
end

local function minus(sum, base)
  if sum < base then
    return sum - base + WRAP
  end
  return sum - base
end

local function new(src, first, last, stored, top, base, oldest, newest, sum)
  return {
    src = src, first = first, last = last, stored = stored, top = top,
    base = base, oldest = oldest, newest = newest, sum = sum,
  }
end

local zero = new(nil, 0, 0, 0, nil, 0, 0, 0, 0)

local function between(log, lo, hi, passes)
  while hi - lo > 1 do
    local middle = floor((lo + hi) / 2)
    if passes(entry(log, middle)) then
      hi = middle
    else
      lo = middle
    end
  end
  return hi
end

-- forward is the first position that passes, as all later ones and the last one do.
local function forward(log, passes)
  local lo, step, hi = log.first - 1, 1, log.last - 1
  while lo + step < hi and not passes(entry(log, lo + step)) do
    lo, step = lo + step, 2 * step
  end
  return between(log, lo, min(hi, lo + step), passes)
end

-- backward is the same, from the end, which it returns if none passes.
local function backward(log, passes)
  local lo, step, hi = log.first - 1, 1, log.last
  while hi - step > lo and passes(entry(log, hi - step)) do
    hi, step = hi - step, 2 * step
  end
  return between(log, max(lo, hi - step), hi, passes)
end

-- cut is log without the entries from position last on, of which the one before is
-- that of newest and sum.
local function cut(log, last, newest, sum)
  local top = log.top
  while top and top.position >= last do
    top = top.prev
  end
  return new(log.src, log.first, last, min(log.stored, last), top, log.base, log.oldest, newest, sum)
end

-- put is log with a last entry at position.
local function put(log, position, at, sum)
  log = cut(log, position, at, sum)
  log.last, log.top = position + 1, {position = position, at = at, sum = sum, prev = log.top}
  if position == log.first then
    log.oldest = at
  end
  return log
end

-- moveTo puts charges later than time at time, all at once, since they may be many.
local function moveTo(log, time)
  local first, last = log.first, log.last
  local from = backward(log, function(at) return at > time end)
  local text, at = entries(log), gsub(pack('<I7', time), '%%', '%%%%')
  local kept = 14 * (from - first)
  text = sub(text, 1, kept) .. gsub(sub(text, kept + 1), '.......(.......)', at .. '%1')
  local n = last - first
  return new(source(text), 0, n, n, nil, log.base, min(log.oldest, time), time, log.sum)
end

-- alive is the part of log later than since.
local function alive(log, since)
  local first, last = log.first, log.last
  if first == last or log.oldest > since then
    return log
  end
  if log.newest <= since then
    return new(log.src, last, last, log.stored, log.top, log.sum, 0, 0, log.sum)
  end
  first = forward(log, function(at) return at > since end)
  local oldest, _, base = entry(log, first), entry(log, first - 1)
  return new(log.src, first, last, log.stored, log.top, base, oldest, log.newest, log.sum)
end

-- takeOff removes n of the used units, the newest first.
local function takeOff(log, used, n)
  local rest, base = used - n, log.base
  if rest <= 0 then
    return cut(log, log.first, 0, base)
  end
  local position = backward(log, function(_, sum) return minus(sum, base) >= rest end)
  local at, sum = entry(log, position)
  if minus(sum, base) == rest then
    return cut(log, position + 1, at, sum)
  end
  return put(log, position, at, plus(base, rest))
end

-- change adds a charge to a log of live ones, or takes units off its end.
local function change(log, used, limit, time, cost)
  if cost < 0 then
    return takeOff(log, used, -max(cost, -MAX))
  end
  cost = min(cost, MAX - used)
  if cost == 0 then
    return log
  end
  local last, sum = log.last, plus(log.sum, cost)
  if last > log.first and (log.newest == time or last - log.first >= limit) then
    last = last - 1
  end
  return put(log, last, time, sum)
end

-- freed is the instant of the charge with which, oldest first, n units are gone.
local function freed(log, n)
  if n == 1 then
    return log.oldest
  end
  local base = log.base
  local at = entry(log, forward(log, function(_, sum) return minus(sum, base) >= n end))
  return at
end

local function take(log, _, _, p, now, cost, forced)
  local limit, window = p[1], p[2]
  if limit == 0 then
    local ok = forced or cost < 0
    return ok, log, 0, 0, 0, ok and 0 or -1, 0, 0
  end
  local time, lag, kept = now, 0, log
  if log.last > log.first and log.newest > now then
    if log.newest - now <= window then
      time, lag = log.newest, log.newest - now
    else
      log = moveTo(log, now)
      if cost ~= 0 then
        kept = log
      end
    end
  end
  local live = alive(log, time - window)
  local used = minus(live.sum, live.base)
  local ok = cost < 0 or forced or max(cost, 1) <= limit - used
  if ok and cost ~= 0 then
    live = change(live, used, limit, time, cost)
    kept, used = live, minus(live.sum, live.base)
  end
  local left, retry, reset, after = max(0, limit - used), 0, 0, 0
  if live.last > live.first then
    reset = lag + live.newest + window - time
    after = lag + freed(live, max(1, used - limit + 1)) + window - time
  end
  if not ok then
    retry, cost = -1, max(cost, 1)
    if cost <= limit then
      retry = lag + freed(live, used + cost - limit) + window - time
    end
  end
  return ok, kept, 0, 0, left, retry, reset, after
end

local function expires(log, _, _, p)
  if log.last == log.first then
    return 0, 0
  end
  return log.newest + p[2], log.newest + 2 * p[2]
end

local function owes(log, _, _, p)
  if log.last == log.first or p[1] == 0 then
    return nil
  end
  local live = alive(log, log.newest - p[2])
  return windowDebt(log.newest, minus(live.sum, live.base), p)
end

local function assume(at, owed, _, price, _, p)
  if owed == 0 or p[1] == 0 then
    return zero, 0, 0, owed == 0
  end
  return put(zero, 0, at, min(up(owed, price), p[1])), 0, 0, false
end

local function convert(log, _, _, old, p)
  return log, 0, 0, log.last == log.first or p[2] >= old[2] and p[1] > 0
end

-- back gives up to cost back that was charged at the instant time.
local function back(log, _, _, _, _, cost, time)
  local position = backward(log, function(at) return at > time end) - 1
  if position < log.first then
    return log, 0, 0
  end
  local at, sum = entry(log, position)
  if at ~= time then
    return log, 0, 0
  end
  local before, newest = log.base, 0
  if position > log.first then
    newest, before = entry(log, position - 1)
  end
  local later, spared = {}, minus(sum, before) - cost
  cost = min(cost, minus(sum, before))
  if spared > 0 then
    later[1] = {at, sum}
  end
  for i = position + 1, log.last - 1 do
    later[#later + 1] = {entry(log, i)}
  end
  log = cut(log, position, newest, before)
  for i = 1, #later do
    log = put(log, log.last, later[i][1], minus(later[i][2], cost))
  end
  return log, 0, 0
end

local function capacity(p)
  return p[1]
end

return {
  take = take, expires = expires, capacity = capacity, back = back,
  owes = owes, assume = assume, convert = convert,
  zero = zero, params = 2, three = true, list = true,
  wide = '<BI5I7I7I7', plus = plus, new = new,
}
