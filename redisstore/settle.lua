-- One charge on one bucket: bucket.settle of the reference store.

local function same(q, p)
  if q.twin ~= p.twin then
    return false
  end
  for i = 1, p.twin.params do
    if q[i] ~= p[i] then
      return false
    end
  end
  return true
end

-- ends is the instant from which a bucket is worth nothing: both its cell and its
-- debt are gone.
local function ends(at, used, prior, q, d)
  local gone = q.twin.expires(at, used, prior, q)
  return d and max(gone, debtEnds(d)) or gone
end

-- under is a bucket that was counted under q as p counts it, and the debt to keep
-- beside it.
local function under(at, used, prior, q, d, p)
  local t = p.twin
  if ends(at, used, prior, q, d) <= now then
    return t.zero, 0, 0, nil
  end
  if q == p or same(q, p) then
    return at, used, prior, d
  end
  local owes, a, u, b, whole = q.twin.owes, nil, nil, nil, nil
  if q.twin == t and t.convert then
    a, u, b, whole = t.convert(at, used, prior, q, p)
  else
    local x, owed, gain, price, tick = owes(at, used, prior, q)
    a, u, b, whole = t.assume(x, owed or 0, gain, price, tick, p)
  end
  if d then
    local x, y, z = t.assume(d.at, d.owed, d.gain, d.price, d.tick, p)
    local _, assumed = t.owes(x, y, z, p)
    local _, owed = t.owes(a, u, b, p)
    if (assumed or 0) > (owed or 0) then
      return x, y, z, d
    end
    return a, u, b, d
  end
  if whole then
    return a, u, b, nil
  end
  return a, u, b, newDebt(owes(at, used, prior, q))
end

-- What a bucket has become, since settle returns more than that.
local after = {}

-- settle lets a charge ask the bucket. It returns whether the charge fits, whether the
-- bucket has changed, and what is told: the cell that the charge met, or the verdict.
-- after is the bucket afterwards: the cell, the params and the debt.
local function settle(at, used, prior, q, d, p, cost, forced, delay)
  local t = p.twin
  local a0, u0, b0, owed = under(at, used, prior, q, d, p)
  after.unlent = owed and delay and delay > 0 and not t.queue
  if after.unlent then
    delay = nil -- What is let off must not be booked on top of again.
  end
  local fit, a, u, b, left, retry, reset, next = t.take(a0, u0, b0, p, now, cost, forced, delay)
  local m1, m2, m3, m4 = a0, u0, b0, nil
  if t.list then
    m1, m2, m3, m4 = left, retry, reset, next
  end
  local changed = false
  if cost ~= 0 and t.capacity(p) > 0 then
    if fit then
      if owed then
        local _, _, gain, price, tick = t.owes(a, u, b, p)
        owed = chargeDebt(owed, cost, gain, price, tick)
      end
      changed = q ~= p or d or a ~= at or u ~= used or b ~= prior
    elseif a ~= a0 or u ~= u0 or b ~= b0 then
      -- The clock was set back.
      if owed and owed.at > now then
        owed = newDebt(now, owed.owed, owed.gain, owed.price, owed.tick)
      end
      changed = true
    end
  end
  if changed then
    after.at, after.used, after.prior, after.params, after.debt = a, u, b, p, owed
  else
    after.at, after.used, after.prior, after.params, after.debt = at, used, prior, q, d
  end
  return fit, changed, m1, m2, m3, m4
end
