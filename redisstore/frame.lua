-- The frame settles the requests of one call, one after the other, each all or
-- none. KEYS are the buckets, each once. ARGV[1] is doubles:
--
--   the instant in microseconds, 0 for the server's; milliseconds to keep more;
--   the number of policies; the number of kinds
--   for each policy: six params, since, the number of its twin
--   for each kind of charge: policy, flags, cost
--   for each charge: kind, bucket; and, for one that takes a charge back, the
--   instant of that
--
-- The answer is packed by the format ARGV[2]: the instant, then for each charge
-- whether it fits and the cell that it met, or the verdict where a cell is a list.
-- The charges of a request that is split have behind that what a look at the list
-- would have told before.
-- Only what has changed is written.
--
-- A call begins with nothing, so every function and table below costs each call a
-- part of a microsecond. What most calls do not need is made by rest, and what
-- requests do one after the other is a loop and no functions.

local FORCED, SHADOW, AGAIN, SPLIT, LAST, ALONE, BACK, RARE = 1, 2, 4, 8, 16, 32, 64, 128

local call, keys, R = redis.call, KEYS, {unpack('<' .. rep('d', #ARGV[1] / 8), ARGV[1])}
local now, slack, pos, twins = R[1], R[2], 5, {}
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- P are the policies. One whose params fit has at hand how long narrow values of it
-- are and what they end in, so that nobody reads these params again.
local P = {}
for i = 1, R[3] do
  local id, p1, p2, p3 = R[pos + 7], R[pos], R[pos + 1], R[pos + 2]
  local t = twins[id]
  if not t then
    t = text(id)
    twins[id] = t
  end
  local p = {
    p1, p2, p3, R[pos + 3], R[pos + 4], R[pos + 5], R[pos + 6],
    twin = t, head = VERSION + 2 * id, below = 0, size = -1, tail = '',
  }
  if t.narrow and p1 < t.below1 and p2 < t.below2 and p3 < t.below3 then
    p.below, p.size, p.tail = t.below, t.size, pack(t.tail, p1, p2, p3)
  end
  P[i] = p
  pos = pos + 8
end

-- K are the kinds of charges. Of a request either all charges are rare or none.
local K = {}
for i = 1, R[4] do
  local flags = R[pos + 1]
  K[i] = {
    policy = P[R[pos]], cost = R[pos + 2], flags = flags, rare = flags >= RARE, last = flags % ALONE >= LAST,
    alone = flags % BACK >= ALONE, shadow = flags % AGAIN >= SHADOW, forced = flags % SHADOW >= FORCED,
  }
  pos = pos + 3
end

-- values are the strings of the buckets; strange is which of the others are there
-- all the same, once somebody has asked.
local values, strange
if #keys > 1 then
  values = call('MGET', spread(keys))
else
  values = {redis.pcall('GET', keys[1])}
  strange = {}
  if values[1] and values[1].err then
    values, strange = {false}, {true}
  end
end

-- find asks for all keys without a string at once.
local function find()
  local names, places, found = {}, {}, {}
  for k = 1, #keys do
    if not values[k] then
      names[#names + 1], places[#places + 1] = keys[k], k
    end
  end
  if call('EXISTS', spread(names)) > 0 then
    for i = 1, #names do
      found[places[i]] = call('EXISTS', names[i]) == 1
    end
  end
  return found
end

-- write makes bucket k what it has become. The moment of expiry is kept in the
-- value and moved only when what remains is too short. Where neither that nor the
-- length changes, the bytes are replaced, which costs less than a new value.
local function write(k, exp, at, used, prior, p)
  local t, value = p.twin, values[k]
  local ends, keep = t.expires(at, used, prior, p)
  if ends <= now then
    if value then
      call('DEL', keys[k])
    end
    return
  end
  local px
  if exp * 1000000 < ends or not value then
    px = floor((keep - now + 999) / 1000) + 4000 + slack
    exp = floor((now + px * 1000) / 1000000)
  end
  local new
  if used < p.below and prior < p.below then
    if t.three then
      new = pack(t.cell, p.head, exp, at, used, prior, p.tail)
    else
      new = pack(t.cell, p.head, exp, at, used, p.tail)
    end
  elseif t.list then
    new = pack(t.wide, p.head + 1, exp, used, p[1], p[2]) .. at
  elseif t.three then
    new = pack(t.wide, p.head + 1, exp, at, used, prior, p[1], p[2])
  else
    new = pack(t.wide, p.head + 1, exp, at, used, p[1], p[2], p[3], p[4], p[5])
  end
  if px then
    call('SET', keys[k], new, 'PX', px)
  elseif #new == #value then
    call('SETRANGE', keys[k], '0', new)
  else
    call('SET', keys[k], new, 'KEEPTTL')
  end
end

local O = {now}

-- rest makes what most calls do not need.
local function rest()
  local FOREIGN, WRONGTYPE, UNASKED = 2, 4, 8
  local AGAIN, SPLIT, LAST, BACK, RARE = 4, 8, 16, 64, 128
  local L, formats, n = {}, {}, 0

  -- Buckets that several charges of the call ask, listed in S: the cell, the moment
  -- of expiry, the params it was counted under, whether to write it, whether it
  -- refused, what is wrong with it. They are written at the end; others as soon as
  -- it is decided.
  local S, A, U, B, E, Q, D, stale, X = {}, {}, {}, {}, {}, {}, {}, {}, {}

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

  -- read returns the cell of bucket k, the moment of expiry in seconds, and the
  -- params it was counted under, which are p for a bucket that is not there. If there
  -- is something else it returns nil and what is wrong.
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
    local size, t = f[2], f[3]
    if t.list then
      if #value < size or (#value - size) % t.list ~= 0 then
        return nil, FOREIGN
      end
      local _, exp, used, w1, w2 = unpack(f[1], value)
      if t ~= p.twin then
        p = {w1, w2, twin = t}
      end
      return sub(value, size + 1), used, 0, exp, p
    end
    if #value ~= size then
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
    return at, used, prior, exp, p
  end

  -- open reads bucket k for all charges of the call.
  local function open(k, p)
    local at, used, prior, exp, q = read(k, p)
    if at then
      S[#S + 1] = k
      A[k], U[k], B[k], E[k], Q[k] = at, used, prior, exp, q
    else
      X[k] = used
    end
  end

  local function same(q, p, words)
    for i = 1, words do
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
    local left = min(q.twin.spent(at, used, prior, q, time), q.twin.capacity(q), t.capacity(p))
    if left <= 0 then
      return t.zero, 0, 0
    end
    local _
    _, at, used, prior = t.take(t.zero, 0, 0, p, time, left, true)
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

  -- expire gives bucket k, which has no expiry, one.
  function L.expire(k, p)
    local at, used, prior, _, q = read(k, p)
    local ends = q.twin.expires(at, used, prior, q)
    call('PEXPIRE', keys[k], floor((max(ends, now) - now + 999) / 1000) + 1 + slack)
  end

  -- blame answers a request at first, of which wrong[j] says what is wrong with the
  -- bucket of charge j, behind the first answers, and returns how many there are now.
  function L.blame(first, wrong, count, answers)
    n = answers
    for j = 1, count do
      tell(K[R[first]].policy.twin, wrong[j] or UNASKED, 0, 0, 0, 0)
      first = first + 2
    end
    return n
  end

  -- request returns what settles requests of any kind.
  local function request()
    -- Of the charges of one request: policy, bucket, what is wrong with it, whether a
    -- charge before has the same; the cell as it was and its params; whether it fits,
    -- whether that changes the cell, the cell afterwards; the cell that the charge
    -- met, or the verdict; what a look would have told.
    local cp, ck, cx, again = {}, {}, {}, {}
    local a0, u0, b0, q0 = {}, {}, {}, {}
    local ok, changes, fa, fu, fb = {}, {}, {}, {}, {}
    local m1, m2, m3, m4, looks = {}, {}, {}, {}, {}

    -- met is the bucket of charge j as charges before it in the request leave it.
    local function met(j)
      for i = j - 1, 1, -1 do
        if ck[i] == ck[j] and changes[i] then
          return under(fa[i], fu[i], fb[i], cp[i], cp[j])
        end
      end
      return under(a0[j], u0[j], b0[j], q0[j], cp[j])
    end

    -- leave makes the bucket of charge j what the charge has made of it, or not.
    local function leave(j, changed)
      local k = ck[j]
      if changed then
        A[k], U[k], B[k], Q[k], D[k] = fa[j], fu[j], fb[j], cp[j], true
      elseif not ok[j] then
        stale[k] = true
      end
    end

    -- back takes back a charge that was made at the instant time.
    local function back(p, k, cost, time)
      local t = p.twin
      if not Q[k] and not X[k] then
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
    local function ask(j, cost, forced, split)
      local p, k = cp[j], ck[j]
      local t = p.twin
      if not Q[k] and not X[k] then
        open(k, p)
      end
      cx[j] = X[k]
      if X[k] then
        return
      end
      local at, used, prior, q = A[k], U[k], B[k], Q[k]
      a0[j], u0[j], b0[j], q0[j] = at, used, prior, q
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
    local function refuse(count, split)
      for j = 1, count do
        local p = cp[j]
        local t = p.twin
        if not ok[j] then
          tell(t, 0, m1[j], m2[j], m3[j], m4[j], split)
          leave(j, changes[j] and not again[j])
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

    -- The request at first, whatever it is; returns the position of the next.
    return function(first)
      local kind, count, refused, wrong = K[R[first]], 0, false, false
      if kind.flags % RARE >= BACK then
        back(kind.policy, R[first + 1], kind.cost, R[first + 2])
        return first + 3
      end
      local split = kind.flags % LAST >= SPLIT
      repeat
        kind, count = K[R[first]], count + 1
        cp[count], ck[count], again[count] = kind.policy, R[first + 1], kind.flags % SPLIT >= AGAIN
        local fit = ask(count, kind.cost, kind.forced, split)
        wrong = wrong or cx[count]
        if not fit and not kind.shadow then
          refused = true
        end
        first = first + 2
      until kind.last
      if wrong then
        for j = 1, count do
          tell(cp[j].twin, cx[j] or UNASKED, 0, 0, 0, 0, split)
        end
      elseif refused then
        refuse(count, split)
      else
        for j = 1, count do
          tell(cp[j].twin, ok[j] and 1 or 0, m1[j], m2[j], m3[j], m4[j], split, looks[j])
          leave(j, changes[j])
        end
      end
      return first
    end
  end

  -- rare settles the rare request at first and answers it behind the first answers.
  -- It returns the position of the next, and how many answers there are now.
  function L.rare(first, answers)
    n, L.request = answers, L.request or request()
    return L.request(first), n
  end

  L.read, L.open, L.under, L.isNewer = read, open, under, isNewer
  L.shared = {S, A, U, B, Q, D, stale, X, E}
  return L
end

local L, S, A, U, B, Q, D, stale, X, E
local length, n = #R, 1

-- Of the charges of one request but the last: the value to put in place of one that
-- is as long, if that is all there is to do; or else whether it fits, the cell
-- afterwards, if it is another, and the expiry of the bucket.
local bytes, ok, fa, fu, fb, fe

while pos < length do
  local kind = K[R[pos]]
  if kind.rare then
    L = L or rest()
    pos, n = L.rare(pos, n)
  else
    if not kind.last and not ok then
      bytes, ok, fa, fu, fb, fe = {}, {}, {}, {}, {}, {}
    end
    local first, start, count, refused, wrong = pos, n, 0, false, nil
    local p, k, new, fit, a, u, b, exp
    while true do
      p, k = kind.policy, R[pos + 1]
      pos, count = pos + 2, count + 1
      local t, at, used, prior, q = p.twin, nil, nil, nil, nil
      local three, alone, cell, head, tail = t.three, kind.alone, nil, nil, nil
      if alone then
        local value = values[k]
        if not value then
          strange = strange or find()
          if not strange[k] then
            at, used, prior, exp, q = t.zero, 0, 0, 0, p
          end
        elseif #value == p.size then
          cell = t.cell
          head, exp, at, used, prior, tail = unpack(cell, value)
          if not three then
            prior, tail = 0, prior
          end
          if tail == p.tail and head == p.head then
            q = p
          end
        end
        if not q then
          L, cell = L or rest(), nil
          at, used, prior, exp, q = L.read(k, p)
        end
      else
        if not S then
          L = L or rest()
          S, A, U, B, Q, D, stale, X = spread(L.shared)
        end
        if not Q[k] and not X[k] then
          L.open(k, p)
        end
        at, used, prior, q = A[k], U[k] or X[k], B[k], Q[k]
      end
      new = nil
      if at then
        local at0, cost, left, retry, reset, after = at, kind.cost, nil, nil, nil, nil
        if q ~= p then
          L = L or rest()
          at, used, prior = L.under(at, used, prior, q, p)
        end
        fit, a, u, b, left, retry, reset, after = t.take(at, used, prior, p, now, cost, kind.forced)
        if not three then
          O[n + 1], O[n + 2], O[n + 3] = fit and 1 or 0, at, used
          n = n + 3
        elseif not t.list then
          O[n + 1], O[n + 2], O[n + 3], O[n + 4] = fit and 1 or 0, at, used, prior
          n = n + 4
        else
          O[n + 1], O[n + 2], O[n + 3], O[n + 4], O[n + 5] = fit and 1 or 0, left, retry, reset, after
          n = n + 5
        end
        if a == at and u == used and b == prior and (q == p or not fit and not L.isNewer(at0, q, p)) or cost == 0 then
          a = nil
        end
        if not fit then
          refused = refused or not kind.shadow
        elseif a and cell then
          local ends, below = t.expires(a, u, b, p), p.below
          if ends > now and ends <= exp * 1000000 and u < below and b < below then
            if three then
              new = pack(cell, head, exp, a, u, b, tail)
            else
              new = pack(cell, head, exp, a, u, tail)
            end
          end
        end
      else
        wrong = wrong or {}
        wrong[count] = used
      end
      if kind.last then
        break
      end
      bytes[count] = new
      if not new then
        ok[count], fa[count], fu[count], fb[count], fe[count] = fit, a, u, b, exp
      end
      kind = K[R[pos]]
    end
    if wrong then
      n = L.blame(first, wrong, count, start)
    else
      -- What is to do for the last charge is at hand, for the others in the tables.
      while true do
        if new then
          if not refused then
            call('SETRANGE', keys[k], '0', new)
          end
        elseif a and not (refused and fit) then
          if kind.alone then
            write(k, exp, a, u, b, p)
          else
            A[k], U[k], B[k], Q[k], D[k] = a, u, b, p, true
          end
        elseif not fit then
          if not kind.alone then
            stale[k] = true
          elseif values[k] and call('PTTL', keys[k]) == -1 then
            L = L or rest()
            L.expire(k, p)
          end
        end
        count = count - 1
        if count == 0 then
          break
        end
        k, new = R[first + 2 * count - 1], bytes[count]
        if not new then
          kind = K[R[first + 2 * count - 2]]
          p, fit, a, u, b, exp = kind.policy, ok[count], fa[count], fu[count], fb[count], fe[count]
        end
      end
    end
  end
end

if L then
  S, A, U, B, Q, D, stale, X, E = spread(L.shared)
  for i = 1, #S do
    local k = S[i]
    if D[k] then
      write(k, E[k], A[k], U[k], B[k], Q[k])
    elseif stale[k] and values[k] and call('PTTL', keys[k]) == -1 then
      L.expire(k, Q[k])
    end
  end
end

return pack(ARGV[2], spread(O, 1, n))
