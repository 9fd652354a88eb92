-- The frame settles the requests of one call, one after the other, each all or
-- none. KEYS are the buckets, each once. ARGV[1] is doubles:
--
--   the instant in microseconds, 0 for the server's; milliseconds to keep more;
--   the number of policies
--   for each policy: six params, since, the number of its twin
--   for each charge: policy, bucket, flags, cost; and, for one that takes a charge
--   back, the instant of that
--
-- The answer is packed by the format ARGV[2]: the instant, then for each charge
-- whether it fits and the cell that it met, or the verdict where a cell is a list.
-- The charges of a request that is split have behind that what a look at the list
-- would have told before.
-- Nothing is written before all is decided, and only what has changed is written.

local FORCED, SHADOW, AGAIN, SPLIT, LAST, BACK = 1, 2, 4, 8, 16, 32
local FOREIGN, WRONGTYPE, UNASKED = 2, 4, 8

local call, R = redis.call, {unpack('<' .. rep('d', #ARGV[1] / 8), ARGV[1])}
local now, slack, policies = R[1], R[2], R[3]
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

local twins, formats = {}, {}

-- twin loads an algorithm and the two ways in which its cells are packed.
local function twin(id)
  local t = twins[id]
  if not t and id >= 1 and id <= TWINS then
    t = text(id)
    twins[id] = t
    t.head = VERSION + 2 * id
    formats[t.head + 1] = {t.wide, struct.size(t.wide), t}
    if t.narrow then
      formats[t.head] = {t.narrow, struct.size(t.narrow), t}
    end
  end
  return t
end

local P = {}
local pos = 4
for i = 1, policies do
  local p = {R[pos], R[pos + 1], R[pos + 2], R[pos + 3], R[pos + 4], R[pos + 5], R[pos + 6]}
  local t = twin(R[pos + 7])
  local fits = t.fits
  p.twin = t
  p.narrow = fits and p[1] < fits[1] and p[2] < fits[2] and (not fits[3] or p[3] < fits[3])
  P[i] = p
  pos = pos + 8
end

-- Buckets: the value read; the cell; the moment of expiry in seconds; the params
-- it was counted under; whether to write it; what is wrong with it.
local values
local A, U, B, E, Q, D, X = {}, {}, {}, {}, {}, {}, {}
local buckets = #KEYS
if buckets > 1 then
  values = call('MGET', spread(KEYS))
else
  values = {false}
end

-- open reads bucket k, first asked under p.
local function open(k, p)
  local value, t = values[k], p.twin
  if not value then
    value = redis.pcall('GET', KEYS[k])
    if value and value.err then
      X[k] = WRONGTYPE
      return
    end
    values[k] = value
  end
  if not value then
    A[k], U[k], B[k], E[k], Q[k] = t.zero, 0, 0, 0, p
    return
  end
  local head = byte(value)
  local format = head and formats[head]
  if not format and head and twin(floor((head - VERSION) / 2)) then
    format = formats[head]
  end
  local size = #value
  if not format or size < format[2] then
    X[k] = FOREIGN
    return
  end
  t = format[3]
  local q = p
  if t.list then
    local list = sub(value, format[2] + 1)
    if #list % t.list ~= 0 then
      X[k] = FOREIGN
      return
    end
    local _, exp, used, w1, w2 = unpack(format[1], value)
    if p.twin ~= t then
      q = {w1, w2, twin = t}
    end
    A[k], U[k], B[k], E[k], Q[k] = list, used, 0, exp, q
    return
  end
  if size ~= format[2] then
    X[k] = FOREIGN
    return
  end
  local _, exp, at, used, w1, w2, w3, w4, w5 = unpack(format[1], value)
  local prior = 0
  if t.three then
    prior, w1, w2 = w1, w2, w3
  end
  local n = t.params
  if t ~= p.twin or w1 ~= p[1] or w2 ~= p[2] or n > 2 and w3 ~= p[3] or n > 3 and (w4 ~= p[4] or w5 ~= p[5]) then
    -- Behind the last word stands a position, which is none of the params.
    q = {w1, w2, n > 2 and w3 or nil, n > 3 and w4 or nil, n > 3 and w5 or nil, twin = t}
  end
  A[k], U[k], B[k], E[k], Q[k] = at, used, prior, exp, q
end

local function same(q, p, n)
  for i = 1, n do
    if q[i] ~= p[i] then
      return false
    end
  end
  return true
end

-- under is bucket k counted under p: until p was first used under the limit of the
-- last charge, from then on under its own.
local function under(k, p)
  local at, used, prior, q = A[k], U[k], B[k], Q[k]
  local t = p.twin
  if q == p then
    return at, used, prior
  end
  if q.twin == t then
    if used == 0 and prior == 0 then
      return t.zero, 0, 0
    end
    if not t.carry or same(q, p, t.params) then
      return at, used, prior
    end
  end
  local time = p[7]
  if time == 0 or time > now then
    time = now
  end
  if q.twin == t then
    return t.carry(at, used, prior, q, p, max(time, at))
  end
  local n = min(q.twin.spent(at, used, prior, q, time), q.twin.capacity(q), t.capacity(p))
  if n <= 0 then
    return t.zero, 0, 0
  end
  local _
  _, at, used, prior = t.take(t.zero, 0, 0, p, time, n, true)
  return at, used, prior
end

local O, n = {now}, 1

-- tell answers a charge with the cell that it met; for a list, with the verdict.
local function tell(t, fit, a, b, c, d, split, look)
  O[n + 1], O[n + 2], O[n + 3] = fit, a, b
  n = n + 3
  if t.list then
    O[n + 1], O[n + 2] = c, d
    n = n + 2
    if split then
      look = look or {0, 0, 0}
      O[n + 1], O[n + 2], O[n + 3] = look[1], look[2], look[3]
      n = n + 3
    end
  elseif t.three then
    O[n + 1] = c
    n = n + 1
  end
end

-- write makes a bucket what it has become. The moment of expiry is kept in the
-- value and moved only when what remains is too short.
local function write(k)
  local key, at, used, prior, p = KEYS[k], A[k], U[k], B[k], Q[k]
  local t = p.twin
  local ends, keep = t.expires(at, used, prior, p)
  if ends <= now then
    if values[k] then
      call('DEL', key)
    end
    return
  end
  local exp, px = E[k], nil
  if exp * 1000000 < ends or not values[k] then
    px = floor((keep - now + 999) / 1000) + 4000 + slack
    exp = floor((now + px * 1000) / 1000000)
  end
  local value
  if t.list then
    value = pack(t.wide, t.head + 1, exp, used, p[1], p[2]) .. at
  else
    local format, head = t.wide, t.head + 1
    if p.narrow and used < t.below and prior < t.below then
      format, head = t.narrow, t.head
    end
    if t.three then
      value = pack(format, head, exp, at, used, prior, p[1], p[2])
    else
      value = pack(format, head, exp, at, used, p[1], p[2], p[3], p[4], p[5])
    end
  end
  if px then
    call('SET', key, value, 'PX', px)
  else
    call('SET', key, value, 'KEEPTTL')
  end
end

-- mend gives a bucket that has no expiry one.
local function mend(k)
  if call('PTTL', KEYS[k]) == -1 then
    local ends = Q[k].twin.expires(A[k], U[k], B[k], Q[k])
    call('PEXPIRE', KEYS[k], floor((max(ends, now) - now + 999) / 1000) + 1 + slack)
  end
end

-- Of the charges of one request: policy, bucket, whether it fits; the cell it met,
-- or the verdict; whether the bucket changes, and the cell afterwards.
local cp, ck, ok = {}, {}, {}
local m1, m2, m3, m4 = {}, {}, {}, {}
local changes, fa, fu, fb, again, looks = {}, {}, {}, {}, {}, {}
local stale = {}

-- met is the bucket of charge j as charges before it in the request leave it.
local function met(j, k, p)
  for i = j - 1, 1, -1 do
    if ck[i] == k and changes[i] then
      local at, used, prior, q = A[k], U[k], B[k], Q[k]
      A[k], U[k], B[k], Q[k] = fa[i], fu[i], fb[i], cp[i]
      local a, u, b = under(k, p)
      A[k], U[k], B[k], Q[k] = at, used, prior, q
      return a, u, b
    end
  end
  return under(k, p)
end

local length = #R
while pos < length do
  local count, refused, split, wrong, flags = 0, false, false, nil, nil
  repeat
    local p, k, cost = P[R[pos]], R[pos + 1], R[pos + 3]
    flags = R[pos + 2]
    pos, count = pos + 4, count + 1
    if not A[k] and not X[k] then
      open(k, p)
    end
    cp[count], ck[count] = p, k
    wrong = wrong or X[k]
    split = flags % LAST >= SPLIT
    if flags >= BACK then
      local t = p.twin
      if not wrong then
        local at, used, prior = under(k, p)
        local a, u, b = t.back(at, used, prior, p, now, cost, R[pos])
        if a ~= at or u ~= used or b ~= prior then
          A[k], U[k], B[k], Q[k], D[k] = a, u, b, p, true
        end
      end
      tell(t, 1, 0, 0, 0, 0)
      pos, count, wrong = pos + 1, 0, nil
    elseif not wrong then
      local t, forced, shadow = p.twin, false, false
      local at, used, prior
      again[count] = false
      if flags ~= 0 and flags ~= LAST then
        forced, shadow = flags % SHADOW >= FORCED, flags % AGAIN >= SHADOW
        again[count] = flags % SPLIT >= AGAIN
      end
      if again[count] then
        at, used, prior = met(count, k, p)
      elseif Q[k] == p then
        at, used, prior = A[k], U[k], B[k]
      else
        at, used, prior = under(k, p)
      end
      local fit, a, u, b, left, retry, reset, after = t.take(at, used, prior, p, now, cost, forced)
      if split and t.list then
        local _, _, _, _, l, _, r, x = t.take(at, used, prior, p, now, 0, false)
        looks[count] = {l, r, x}
      end
      local changed = cost ~= 0 and (a ~= at or u ~= used or b ~= prior or fit and Q[k] ~= p)
      if not fit then
        stale[k] = true
        refused = refused or not shadow
      end
      if count == 1 and flags >= LAST then
        -- A request of one charge: what it does is done.
        if changed then
          A[k], U[k], B[k], Q[k], D[k] = a, u, b, p, true
        end
        if t.list then
          tell(t, fit and 1 or 0, left, retry, reset, after, split, looks[1])
        else
          tell(t, fit and 1 or 0, at, used, prior)
        end
        count = 0
      else
        ok[count] = fit
        if t.list then
          m1[count], m2[count], m3[count], m4[count] = left, retry, reset, after
        else
          m1[count], m2[count], m3[count] = at, used, prior
        end
        changes[count], fa[count], fu[count], fb[count] = changed, a, u, b
      end
    end
  until flags >= LAST
  if wrong then
    for j = 1, count do
      tell(cp[j].twin, X[ck[j]] or UNASKED, 0, 0, 0, 0, split)
    end
  elseif refused then
    for j = 1, count do
      local k, p = ck[j], cp[j]
      local t = p.twin
      if ok[j] then
        local at, used, prior = under(k, p)
        if t.list then
          local _, _, _, _, left, _, reset, after = t.take(at, used, prior, p, now, 0, false)
          tell(t, 1, left, 0, reset, after, split)
        else
          tell(t, 1, at, used, prior)
        end
      else
        tell(t, 0, m1[j], m2[j], m3[j], m4[j], split)
        if changes[j] and not again[j] then
          -- The clock was set back so far that the bucket had to be moved.
          A[k], U[k], B[k], Q[k], D[k] = fa[j], fu[j], fb[j], p, true
        end
      end
    end
  else
    for j = 1, count do
      if changes[j] then
        local k = ck[j]
        A[k], U[k], B[k], Q[k], D[k] = fa[j], fu[j], fb[j], cp[j], true
      end
      tell(cp[j].twin, ok[j] and 1 or 0, m1[j], m2[j], m3[j], m4[j], split, looks[j])
    end
  end
end

for k = 1, buckets do
  if D[k] then
    write(k)
  elseif stale[k] and values[k] then
    mend(k)
  end
end

return pack(ARGV[2], spread(O, 1, n))
