-- The twin of bucket.go: token_bucket, leaky_bucket.
-- A cell is the instant of the last charge and the debt then.
-- p: gain, price, burst, full

local function up(a, b)
  return floor((a + b - 1) / b)
end

-- forgiven is the time that pays off debt.
local function forgiven(debt, gain)
  if gain == 1 or debt <= 0 then
    return debt
  end
  if debt <= gain then
    return 1
  end
  return up(debt, gain)
end

-- owed returns the debt at now, how far now is behind the cell, and the instant of
-- the cell, which is now if the cell had to be moved.
local function owed(at, used, p, now)
  local elapsed = now - at
  if elapsed < 0 then
    if -elapsed <= p[4] and used > 0 then
      return used, -elapsed, at
    end
    return used, 0, now
  end
  if elapsed < p[4] or elapsed < forgiven(used, p[1]) then
    local debt = used - elapsed * p[1]
    if debt < 0 then
      debt = 0
    end
    return debt, 0, at
  end
  return 0, 0, at
end

-- charge returns the debt after the ask, as if it fitted, and false for a cost that
-- no bucket has room for.
local function charge(debt, p, cost, forced)
  local price = p[2]
  if cost > 0 and not forced and cost <= p[3] then
    return debt + cost * price, true
  end
  local most = floor(MAX / price)
  if cost == 0 then
    return debt + price, true
  end
  if cost < -most then
    return 0, true
  end
  if cost < 0 then
    return max(0, debt + cost * price), true
  end
  if not forced then
    return debt, false
  end
  if cost > most then
    return MAX, true
  end
  return min(debt + cost * price, MAX), true
end

local lent, spare

local function take(at, used, _, p, now, cost, forced, delay)
  local price, burst = p[2], p[3]
  local most = burst * price
  if cost > 0 and cost <= burst and at <= now and not forced then
    -- The usual case, in one piece.
    local after = used - (now - at) * p[1]
    if after < 0 then
      after = 0
    end
    after = after + cost * price
    if after <= most then
      return true, now, after, 0
    elseif not delay then
      return false, at, used, 0
    end
  end
  if most == 0 then
    return forced or cost < 0, at, used, 0
  end
  local debt, lag, moved = owed(at, used, p, now)
  local after, ok = charge(debt, p, cost, forced)
  if not forced and cost >= 0 then
    if delay then
      most = most + spare(lag, lent(delay, most, p), p)
    end
    ok = ok and after <= most
  end
  if cost == 0 then
    return ok, at, used, 0
  end
  if ok then
    return true, now + lag, after, 0
  end
  return false, moved, used, 0
end

-- expires returns the instant from which the cell is worth nothing, and until when
-- to keep it: twice as long, so that the next charges need not move the expiry.
local function expires(at, used, _, p)
  local debt, gain = used, p[1]
  if used == 0 or gain == 0 then
    return 0, 0
  end
  if gain ~= 1 then
    debt = forgiven(used, gain)
  end
  return at + debt, at + 2 * debt
end

local function owes(at, used, _, p)
  if p[3] == 0 or used == 0 then
    return nil
  end
  return at, used, p[1], p[2], 1
end

-- spend is the bucket that owes a debt, at most most.
local function spend(at, owed, price, p, most)
  if owed == 0 or most == 0 then
    return 0, 0, 0, owed == 0
  end
  local debt = worth(owed, price, p[2])
  return at, min(debt, most), 0, debt <= most
end

local function assume(at, owed, _, price, _, p)
  return spend(at, owed, price, p, p[3] * p[2])
end

-- lent is how far above most the debt may go for a caller who waits for delay.
function lent(delay, most, p)
  delay = floor(delay)
  if delay > floor((MAX - most) / p[1]) then
    return MAX - most
  end
  return delay * p[1]
end

-- spare is how far above a full bucket the debt may go where over is lent. For a
-- reading that is behind by lag it is less, because a delay counts from the reading.
function spare(lag, over, p)
  if lag > floor(over / p[1]) then
    return 0
  end
  return over - lag * p[1]
end

local function capacity(p)
  return p[3]
end

-- back gives up to cost back that was charged at some instant before.
local function back(at, used, _, p, now, cost)
  local _, a, u = take(at, used, 0, p, now, -cost, false)
  return a, u, 0
end

return {
  take = take, expires = expires, owes = owes, assume = assume, capacity = capacity, back = back,
  owed = owed, charge = charge, spend = spend, lent = lent, spare = spare,
  zero = 0, params = 3,
  narrow = '<BI5I7I5I2I5I3', below = 2^40, below1 = 2^16, below2 = 2^40, below3 = 2^24,
  size = 28, cell = '<BI5I7I5c10', words = '<I7I5', tail = '<I2I5I3',
  wide = '<BI5I7I7I7I7I7',
}
