-- Values of any layout.

local OWED, formats = struct.size(DEBT), {}

-- debtAt unpacks the debt that stands behind so many bytes of a value.
local function debtAt(value, size)
  return newDebt(unpack(DEBT, value, size + 1))
end

-- format returns how a value with this first byte is packed, how long that is, and
-- its twin.
local function format(head)
  local f = formats[head]
  if not f and head then
    local id = floor((head - VERSION) / 2)
    if id < 1 or id > TWINS then
      return
    end
    twins[id] = twins[id] or text(id)
    local packed = twins[id].wide
    if (head - VERSION) % 2 == 0 then
      packed = twins[id].narrow
    end
    f = packed and {packed, struct.size(packed), twins[id]}
    formats[head] = f
  end
  return f
end

-- read returns the cell of bucket k, the moment of expiry in seconds, the params it
-- was counted under, which are p for a bucket that is not there, and the debt beside
-- it. If there is something else it returns nil and what is wrong.
local function read(k, p)
  local value = values[k]
  if not value then
    strange = strange or find()
    if strange[k] then
      return nil, WRONGTYPE
    end
    return p.twin.zero, 0, 0, 0, p
  end
  local f = format(byte(value))
  if not f then
    return nil, FOREIGN
  end
  local size, t, d = f[2], f[3], nil
  if t.list then
    local over = #value - size
    if over % t.list == OWED % t.list then
      d, value = debtAt(value, #value - OWED), sub(value, 1, -OWED - 1)
      over = over - OWED
    end
    if over < 0 or over % t.list ~= 0 then
      return nil, FOREIGN
    end
    local _, exp, used, w1, w2 = unpack(f[1], value)
    if t ~= p.twin or w1 ~= p[1] or w2 ~= p[2] then
      p = {w1, w2, twin = t}
    end
    return sub(value, size + 1), used, 0, exp, p, d
  end
  if #value == size + OWED then
    d = debtAt(value, size)
  elseif #value ~= size then
    return nil, FOREIGN
  end
  local _, exp, at, used, w1, w2, w3, w4, w5 = unpack(f[1], value)
  local prior, words = 0, t.params
  if t.three then
    prior, w1, w2 = w1, w2, w3
  end
  if t ~= p.twin or w1 ~= p[1] or w2 ~= p[2] or words > 2 and w3 ~= p[3] or words > 3 and (w4 ~= p[4] or w5 ~= p[5]) then
    -- Behind the last word stands a position, which is none of the params.
    p = {w1, w2, words > 2 and w3 or nil, words > 3 and w4 or nil, words > 3 and w5 or nil, twin = t}
  end
  return at, used, prior, exp, p, d
end

-- open reads bucket k for all charges of the call.
local function open(k, p)
  local at, used, prior, exp, q, d = read(k, p)
  if at then
    S[#S + 1] = k
    A[k], U[k], B[k], E[k], Q[k], V[k] = at, used, prior, exp, q, d
  else
    X[k] = used
  end
end
