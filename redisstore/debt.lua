-- The twin of debt.go. A debt is a table of the instant of the last charge, what was
-- owed then, and how it is forgiven: gain in each tick, where a unit is worth price.
-- Where nothing is owed there is none.

function up(a, b)
  return floor((a + b - 1) / b)
end

-- worth is what is owed where a unit is worth price, rounded up.
function worth(owed, old, price)
  if price == old then
    return owed
  end
  local whole, rest = floor(owed / old), owed % old
  local most = floor(MAX / price)
  if whole >= most then
    return MAX
  end
  if rest > 0 then
    local coarse = up(rest, most)
    rest = min(price, up(up(rest, coarse) * price, max(1, floor(old / coarse))))
  end
  return whole * price + rest
end

-- windowDebt is a count of a window as debt: a limit in each window.
function windowDebt(at, used, p)
  local limit, window = p[1], p[2]
  if used == 0 or limit == 0 then
    return nil
  end
  local tick = up(window, floor(MAX / limit))
  local price = up(window, tick)
  return at, min(used, floor(MAX / price)) * price, limit, price, tick
end

function debtEnds(d)
  local ticks = up(d.owed, d.gain)
  if ticks > floor(MAX / d.tick) then
    return d.at + MAX
  end
  return d.at + ticks * d.tick
end

local function newDebt(at, owed, gain, price, tick)
  if at and owed > 0 then
    return {at = at, owed = owed, gain = gain, price = price, tick = tick}
  end
end

-- chargeDebt counts a cost. What is owed is forgiven at the faster of two rates.
local function chargeDebt(d, cost, gain, price, tick)
  local owed = d.owed
  if gain and gain * d.price * d.tick > d.gain * price * tick then
    owed = worth(owed, d.price, price)
  else
    gain, price, tick = d.gain, d.price, d.tick
  end
  d = newDebt(d.at, owed, gain, price, tick)
  local ticks, at = floor(max(0, now - d.at) / tick), now
  if ticks >= up(owed, gain) then
    return nil
  end
  owed = max(0, owed - ticks * gain)
  if d.at > now and d.at - now <= debtEnds(d) - d.at then
    at = d.at
  end
  local most = floor(MAX / price)
  cost = max(-most, min(cost, most))
  return newDebt(at, max(0, min(owed + cost * price, MAX)), gain, price, tick)
end

local OWED = struct.size(DEBT)

-- debtAt unpacks the debt that stands behind so many bytes of a value.
local function debtAt(value, size)
  return newDebt(unpack(DEBT, value, size + 1))
end
