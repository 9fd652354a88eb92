-- The twin of queue.go: leaky_queue. It is a bucket whose debt may pass the burst;
-- the name bucket stands for the bucket's twin.
-- p: gain, price, burst, full, over

local owed, charge, up = bucket.owed, bucket.charge, bucket.up

local function capacity(p)
  return p[3] + floor(p[5] / p[2])
end

-- spare is how far above the burst the queue lets the debt go.
local function spare(lag, p)
  if lag > floor(p[5] / p[1]) then
    return 0
  end
  return p[5] - lag * p[1]
end

local function take(at, used, _, p, now, cost, forced)
  if p[3] == 0 then
    return forced or cost < 0, at, used, 0
  end
  local debt, lag, moved = owed(at, used, p, now)
  local n = max(cost, 1)
  local ok = forced or cost < 0
  if n <= capacity(p) then
    local late = max(0, debt + (n - p[3]) * p[2])
    ok = ok or late <= spare(lag, p)
  end
  if cost == 0 then
    return ok, at, used, 0
  end
  if ok then
    return true, now + lag, charge(debt, p, cost, forced or cost > 0), 0
  end
  return false, moved, used, 0
end

local function carry(at, used, _, old, p, now)
  if old[3] == 0 or p[3] == 0 then
    return 0, 0, 0
  end
  local wide = {p[1], p[2], p[3] + up(p[5], p[2]), p[4]}
  at, used = bucket.carry(at, used, 0, old, wide, now)
  return at, min(used, p[3] * p[2] + p[5]), 0
end

return {
  take = take, expires = bucket.expires, carry = carry, spent = bucket.spent, capacity = capacity, back = bucket.back,
  zero = 0, params = 5,
  wide = '<BI5I7I7I7I7I7I7I7',
}
