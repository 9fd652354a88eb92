-- The twin of queue.go: leaky_queue. It is a bucket whose debt may pass the burst;
-- the name bucket stands for the bucket's twin.
-- p: gain, price, burst, full, over

local owed, charge, spare = bucket.owed, bucket.charge, bucket.spare

local function capacity(p)
  if p[3] == 0 then
    return 0
  end
  return p[3] + floor(p[5] / p[2])
end

local function take(at, used, _, p, now, cost, forced, delay)
  local burst, price = p[3], p[2]
  if burst == 0 then
    return forced or cost < 0, at, used, 0
  end
  local debt, lag, moved = owed(at, used, p, now)
  local n = max(cost, 1)
  local ok = forced or cost < 0
  if n <= capacity(p) then
    local late = max(0, debt + (n - burst) * price)
    local fits = late <= spare(lag, p[5], p)
    if fits and delay then
      local early = max(0, debt + (min(n, burst) - burst) * price)
      fits = early <= spare(lag, bucket.lent(delay, 0, p), p)
    end
    ok = ok or fits
  end
  if cost == 0 then
    return ok, at, used, 0
  end
  if ok then
    return true, now + lag, charge(debt, p, cost, forced or cost > 0), 0
  end
  return false, moved, used, 0
end

local function assume(at, owed, _, price, _, p)
  return bucket.spend(at, owed, price, p, p[3] * p[2] + p[5])
end

return {
  take = take, expires = bucket.expires, owes = bucket.owes, assume = assume, capacity = capacity, back = bucket.back,
  zero = 0, params = 5, queue = true,
  wide = '<BI5I7I7I7I7I7I7I7',
}
