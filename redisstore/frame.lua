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
-- Only what has changed is written.

local FORCED, SHADOW, AGAIN, SPLIT, LAST, ALONE, BACK = 1, 2, 4, 8, 16, 32, 64
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

local values
local buckets = #KEYS
if buckets > 1 then
  values = call('MGET', spread(KEYS))
else
  values = {false}
end

-- read returns the cell of bucket k, the moment of expiry in seconds, and the
-- params it was counted under, which are p for a bucket that is not there. If there
-- is something else it returns nil and what is wrong.
local function read(k, p)
  local value = values[k]
  if not value then
    value = redis.pcall('GET', KEYS[k])
    if not value then
      return p.twin.zero, 0, 0, 0, p
    end
    if value.err then
      return nil, WRONGTYPE
    end
    values[k] = value
  end
  local head = byte(value)
  local format = formats[head]
  if not format then
    if not head or not twin(floor((head - VERSION) / 2)) then
      return nil, FOREIGN
    end
    format = formats[head]
    if not format then
      return nil, FOREIGN
    end
  end
  local size, t = format[2], format[3]
  if t.list then
    if #value < size or (#value - size) % t.list ~= 0 then
      return nil, FOREIGN
    end
    local _, exp, used, w1, w2 = unpack(format[1], value)
    if t ~= p.twin then
      p = {w1, w2, twin = t}
    end
    return sub(value, size + 1), used, 0, exp, p
  end
  if #value ~= size then
    return nil, FOREIGN
  end
  local _, exp, at, used, w1, w2, w3, w4, w5 = unpack(format[1], value)
  local prior, n = 0, t.params
  if t.three then
    prior, w1, w2 = w1, w2, w3
  end
  if t ~= p.twin or w1 ~= p[1] or w2 ~= p[2] or n > 2 and w3 ~= p[3] or n > 3 and (w4 ~= p[4] or w5 ~= p[5]) then
    -- Behind the last word stands a position, which is none of the params.
    p = {w1, w2, n > 2 and w3 or nil, n > 3 and w4 or nil, n > 3 and w5 or nil, twin = t}
  end
  return at, used, prior, exp, p
end

local function same(q, p, n)
  for i = 1, n do
    if q[i] ~= p[i] then
      return false
    end
  end
  return true
end

-- under is a bucket that was counted under q as p counts it: until p was first used
-- under q, from then on under its own.
local function under(at, used, prior, q, p)
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

-- isNewer says whether p came into force after the last charge of a bucket, which
-- was at the instant at and under q. Then a refusal keeps the bucket carried over,
-- since what it promises counts from there.
local function isNewer(at, q, p)
  if q == p or p.twin.list or q.twin.list then
    return false
  end
  local time = p[7]
  return time == 0 or min(time, now) > at
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

-- write makes bucket k what it has become. The moment of expiry is kept in the
-- value and moved only when what remains is too short.
local function write(k, exp, at, used, prior, p)
  local t = p.twin
  local ends, keep = t.expires(at, used, prior, p)
  if ends <= now then
    if values[k] then
      call('DEL', KEYS[k])
    end
    return
  end
  local px
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
    call('SET', KEYS[k], value, 'PX', px)
  else
    call('SET', KEYS[k], value, 'KEEPTTL')
  end
end

-- mend gives bucket k, which refused and stays as it is, an expiry if it has none.
local function mend(k, at, used, prior, q)
  if values[k] and call('PTTL', KEYS[k]) == -1 then
    local ends = q.twin.expires(at, used, prior, q)
    call('PEXPIRE', KEYS[k], floor((max(ends, now) - now + 999) / 1000) + 1 + slack)
  end
end

-- one settles a request of one charge on a bucket that nobody else asks.
local function one(p, k, cost)
  local t = p.twin
  local at, used, prior, exp, q = read(k, p)
  if not at then
    return tell(t, used, 0, 0, 0, 0)
  end
  local at0, used0, prior0 = at, used, prior
  if q ~= p then
    at, used, prior = under(at, used, prior, q, p)
  end
  local fit, a, u, b, left, retry, reset, after = t.take(at, used, prior, p, now, cost, false)
  if t.list then
    tell(t, fit and 1 or 0, left, retry, reset, after)
  else
    tell(t, fit and 1 or 0, at, used, prior)
  end
  if cost ~= 0 and (a ~= at or u ~= used or b ~= prior or q ~= p and (fit or isNewer(at0, q, p))) then
    write(k, exp, a, u, b, p)
  elseif not fit then
    mend(k, at0, used0, prior0, q)
  end
end

-- many returns what settles requests of any kind, and what to call in the end. It is
-- made when there is one that is not of one charge on a bucket of its own, since
-- making it costs as much as settling some requests.
local function many()
  -- Buckets that several charges of the call ask: the cell, the moment of expiry, the
  -- params it was counted under, whether to write it, whether it refused, what is
  -- wrong with it. They are written at the end; others as soon as it is decided.
  local A, U, B, E, Q, D, stale, X = {}, {}, {}, {}, {}, {}, {}, {}

  local function open(k, p)
    local at, used, prior, exp, q = read(k, p)
    if at then
      A[k], U[k], B[k], E[k], Q[k] = at, used, prior, exp, q
    else
      X[k] = used
    end
  end

  -- Of the charges of one request: policy, bucket, what is wrong with it, whether it
  -- fits; the cell as it was, its expiry and params; the cell that the charge met, or
  -- the verdict; whether the bucket changes, and the cell afterwards.
  local cp, ck, cx, ok = {}, {}, {}, {}
  local a0, u0, b0, e0, q0 = {}, {}, {}, {}, {}
  local m1, m2, m3, m4 = {}, {}, {}, {}
  local changes, fa, fu, fb, again, looks = {}, {}, {}, {}, {}, {}

  -- met is the bucket of charge j as charges before it in the request leave it.
  local function met(j)
    for i = j - 1, 1, -1 do
      if ck[i] == ck[j] and changes[i] then
        return under(fa[i], fu[i], fb[i], cp[i], cp[j])
      end
    end
    return under(a0[j], u0[j], b0[j], q0[j], cp[j])
  end

  -- settle makes the bucket of charge j what the charge has made of it, or leaves it.
  local function settle(j, alone, changed)
    local k = ck[j]
    if changed then
      if alone then
        write(k, e0[j], fa[j], fu[j], fb[j], cp[j])
      else
        A[k], U[k], B[k], Q[k], D[k] = fa[j], fu[j], fb[j], cp[j], true
      end
    elseif not ok[j] then
      if alone then
        mend(k, a0[j], u0[j], b0[j], q0[j])
      else
        stale[k] = true
      end
    end
  end

  -- back takes back a charge that was made at the instant time.
  local function back(p, k, cost, time)
    local t = p.twin
    if not A[k] and not X[k] then
      open(k, p)
    end
    if not X[k] then
      local at, used, prior = under(A[k], U[k], B[k], Q[k], p)
      local a, u, b = t.back(at, used, prior, p, now, cost, time)
      if a ~= at or u ~= used or b ~= prior then
        A[k], U[k], B[k], Q[k], D[k] = a, u, b, p, true
      end
    end
    tell(t, 1, 0, 0, 0, 0)
  end

  -- ask lets charge j ask its bucket.
  local function ask(j, cost, forced, split, alone)
    local p, k = cp[j], ck[j]
    local t, at, used, prior = p.twin, nil, nil, nil
    if alone then
      at, used, prior, e0[j], q0[j] = read(k, p)
      if not at then
        cx[j] = used
        return
      end
    else
      if not A[k] and not X[k] then
        open(k, p)
      end
      if X[k] then
        cx[j] = X[k]
        return
      end
      at, used, prior, q0[j] = A[k], U[k], B[k], Q[k]
    end
    a0[j], u0[j], b0[j], cx[j] = at, used, prior, nil
    local q = q0[j]
    if again[j] then
      at, used, prior = met(j)
    elseif q ~= p then
      at, used, prior = under(at, used, prior, q, p)
    end
    local fit, a, u, b, left, retry, reset, after = t.take(at, used, prior, p, now, cost, forced)
    ok[j], fa[j], fu[j], fb[j] = fit, a, u, b
    changes[j] = cost ~= 0 and (a ~= at or u ~= used or b ~= prior or q ~= p and (fit or isNewer(a0[j], q, p)))
    if t.list then
      m1[j], m2[j], m3[j], m4[j] = left, retry, reset, after
      if split then
        local _, _, _, _, l, _, r, x = t.take(at, used, prior, p, now, 0, false)
        looks[j] = {l, r, x}
      end
    else
      m1[j], m2[j], m3[j] = at, used, prior
    end
    return fit
  end

  -- refuse answers a request that is refused: a charge that fits, with its bucket as
  -- it is. A bucket that refused and had to be moved, because the clock was set back
  -- so far, is moved.
  local function refuse(count, alone, split)
    for j = 1, count do
      local p = cp[j]
      local t = p.twin
      if not ok[j] then
        tell(t, 0, m1[j], m2[j], m3[j], m4[j], split)
        settle(j, alone, changes[j] and not again[j])
      else
        local at, used, prior = under(a0[j], u0[j], b0[j], q0[j], p)
        if t.list then
          local _, _, _, _, left, _, reset, after = t.take(at, used, prior, p, now, 0, false)
          tell(t, 1, left, 0, reset, after, split)
        else
          tell(t, 1, at, used, prior)
        end
      end
    end
  end

  -- request settles the request at pos, whatever it is, and returns the position of
  -- the next.
  local function request(pos)
    local count, refused, wrong, flags = 0, false, false, R[pos + 2]
    if flags >= BACK then
      back(P[R[pos]], R[pos + 1], R[pos + 3], R[pos + 4])
      return pos + 5
    end
    local alone, split = flags % BACK >= ALONE, flags % LAST >= SPLIT
    repeat
      flags, count = R[pos + 2], count + 1
      cp[count], ck[count], again[count] = P[R[pos]], R[pos + 1], flags % SPLIT >= AGAIN
      local fit = ask(count, R[pos + 3], flags % SHADOW >= FORCED, split, alone)
      wrong = wrong or cx[count]
      if not fit and flags % AGAIN < SHADOW then
        refused = true
      end
      pos = pos + 4
    until flags % ALONE >= LAST
    if wrong then
      for j = 1, count do
        tell(cp[j].twin, cx[j] or UNASKED, 0, 0, 0, 0, split)
      end
    elseif refused then
      refuse(count, alone, split)
    else
      for j = 1, count do
        tell(cp[j].twin, ok[j] and 1 or 0, m1[j], m2[j], m3[j], m4[j], split, looks[j])
        settle(j, alone, changes[j])
      end
    end
    return pos
  end

  -- finish writes the buckets that several charges have asked.
  local function finish()
    for k = 1, buckets do
      if D[k] then
        write(k, E[k], A[k], U[k], B[k], Q[k])
      elseif stale[k] then
        mend(k, A[k], U[k], B[k], Q[k])
      end
    end
  end

  return request, finish
end

local length, request, finish = #R, nil, nil
while pos < length do
  if R[pos + 2] == LAST + ALONE then
    one(P[R[pos]], R[pos + 1], R[pos + 3])
    pos = pos + 4
  else
    if not request then
      request, finish = many()
    end
    pos = request(pos)
  end
end
if finish then
  finish()
end

return pack(ARGV[2], spread(O, 1, n))
