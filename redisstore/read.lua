-- Values of any layout.

local sizes = {}

-- twinOf is the twin of the values that begin with this byte.
local function twinOf(head)
  local id = head and floor((head - VERSION) / 2) or 0
  if id < 1 or id > TWINS then
    return nil
  end
  twins[id] = twins[id] or text(id)
  return twins[id]
end

-- read returns the cell of bucket k, the moment of expiry in seconds, the params it
-- was counted under, which are p for a bucket that is not there, the debt beside it,
-- and whether it has to be written because its layout is that of a release before. If
-- there is something else it returns nil and what is wrong.
local function read(k, p)
  local value = values[k]
  if not value then
    strange = strange or find()
    if strange[k] then
      return nil, WRONGTYPE
    end
    return p.twin.zero, 0, 0, 0, p
  end
  local head = byte(value)
  local t = twinOf(head)
  if not t then
    return nil, head and head >= NEW and head < NEW + 64 and NEWER or FOREIGN
  end
  if t.list then
    return readLog(k, value, t, p)
  end
  local format, d = t.wide, nil
  if head % 2 == 0 then
    format = t.narrow
  end
  if not format then
    return nil, FOREIGN
  end
  sizes[format] = sizes[format] or struct.size(format)
  local size = sizes[format]
  if #value == size + OWED then
    d = debtAt(value, size)
  elseif #value ~= size then
    return nil, FOREIGN
  end
  local _, exp, at, used, w1, w2, w3, w4, w5 = unpack(format, value)
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
  local at, used, prior, exp, q, d, old = read(k, p)
  if at then
    S[#S + 1] = k
    A[k], U[k], B[k], E[k], Q[k], V[k], D[k] = at, used, prior, exp, q, d, old
  else
    X[k] = used
  end
end
