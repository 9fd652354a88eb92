-- The twin of slidinglog.go: sliding_window_log.
-- A list is a string of pairs, oldest first: the instant of a charge and the cost
-- charged at it. used is the sum of the costs in it. Because a list may be long,
-- the verdict is told here: what remains, the waits for a retry, a reset, the next.
-- p: limit, window

local pair, wide = '<I7I7', 14

-- moveTo puts charges later than time at time.
local function moveTo(list, time)
  local moved = {}
  for i = 1, #list, wide do
    local at, cost = unpack(pair, list, i)
    moved[#moved + 1] = pack(pair, min(at, time), cost)
  end
  return concat(moved)
end

-- alive returns the part of list later than since, and its sum.
local function alive(list, used, since)
  local i = 1
  while i < #list do
    local at, cost = unpack(pair, list, i)
    if at > since then
      break
    end
    used, i = used - cost, i + wide
  end
  if i > 1 then
    list = sub(list, i)
  end
  return list, used
end

-- takeOff removes n units, the newest first.
local function takeOff(list, used, n)
  while n > 0 and #list > 0 do
    local at, cost = unpack(pair, list, #list - wide + 1)
    list = sub(list, 1, -wide - 1)
    if cost > n then
      return list .. pack(pair, at, cost - n), used - n
    end
    n, used = n - cost, used - cost
  end
  return list, used
end

-- change adds a charge to a list of live ones, or takes units off its end.
local function change(list, used, limit, time, cost)
  if cost < 0 then
    return takeOff(list, used, -max(cost, -MAX))
  end
  cost = min(cost, MAX - used)
  if cost == 0 then
    return list, used
  end
  used = used + cost
  if #list > 0 then
    local at, last = unpack(pair, list, #list - wide + 1)
    if at == time or #list >= limit * wide then
      return sub(list, 1, -wide - 1) .. pack(pair, time, last + cost), used
    end
  end
  return list .. pack(pair, time, cost), used
end

-- freed is the instant of the charge with which, oldest first, n units are gone.
local function freed(list, n)
  local at, i = 0, 1
  while i < #list and n > 0 do
    local cost
    at, cost = unpack(pair, list, i)
    n, i = n - cost, i + wide
  end
  return at
end

local function take(list, used, _, p, now, cost, forced)
  local limit, window = p[1], p[2]
  if limit == 0 then
    local ok = forced or cost < 0
    return ok, list, used, 0, 0, ok and 0 or -1, 0, 0
  end
  local time, lag = now, 0
  local kept, sum = list, used
  if #list > 0 then
    local last = unpack(pair, list, #list - wide + 1)
    if last > now then
      if last - now <= window then
        time, lag = last, last - now
      else
        list = moveTo(list, now)
        if cost ~= 0 then
          kept = list
        end
      end
    end
  end
  local live
  live, used = alive(list, used, time - window)
  local ok = cost < 0 or forced or max(cost, 1) <= limit - used
  if ok and cost ~= 0 then
    live, used = change(live, used, limit, time, cost)
    kept, sum = live, used
  end
  local left, retry, reset, after = max(0, limit - used), 0, 0, 0
  if #live > 0 then
    local last = unpack(pair, live, #live - wide + 1)
    reset = lag + last + window - time
    after = lag + freed(live, max(1, used - limit + 1)) + window - time
  end
  if not ok then
    retry, cost = -1, max(cost, 1)
    if cost <= limit then
      retry = lag + freed(live, used + cost - limit) + window - time
    end
  end
  return ok, kept, sum, 0, left, retry, reset, after
end

local function expires(list, _, _, p)
  if #list == 0 then
    return 0, 0
  end
  local last = unpack(pair, list, #list - wide + 1)
  return last + p[2], last + 2 * p[2]
end

local function owes(list, used, _, p)
  if #list == 0 or p[1] == 0 then
    return nil
  end
  local last = unpack(pair, list, #list - wide + 1)
  local _, sum = alive(list, used, last - p[2])
  return windowDebt(last, sum, p)
end

local function assume(at, owed, _, price, _, p)
  if owed == 0 or p[1] == 0 then
    return '', 0, 0, owed == 0
  end
  local used = min(up(owed, price), p[1])
  return pack(pair, at, used), used, 0, false
end

local function convert(list, used, _, old, p)
  return list, used, 0, #list == 0 or p[2] >= old[2] and p[1] > 0
end

-- back gives up to cost back that was charged at the instant time.
local function back(list, used, _, _, _, cost, time)
  for i = #list - wide + 1, 1, -wide do
    local at, n = unpack(pair, list, i)
    if at == time then
      local rest = ''
      if n > cost then
        rest = pack(pair, at, n - cost)
      end
      return sub(list, 1, i - 1) .. rest .. sub(list, i + wide), used - min(n, cost), 0
    end
  end
  return list, used, 0
end

local function capacity(p)
  return p[1]
end

return {
  take = take, expires = expires, capacity = capacity, back = back,
  owes = owes, assume = assume, convert = convert,
  zero = '', params = 2, three = true, list = wide,
  wide = '<BI5I7I7I7',
}
