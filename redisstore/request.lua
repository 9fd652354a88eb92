-- Requests of any kind, on buckets in any state.

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

-- Of the charges of one request: kind, bucket, what is wrong with it; the bucket
-- afterwards and whether it fits and that is another; what is told, and what a look
-- would have been told. last is by bucket the last charge before that asks it.
local kinds, ck, cx, last = {}, {}, {}, {}
local ok, refusal, changes, fa, fu, fb, fp, fd = {}, {}, {}, {}, {}, {}, {}, {}
local m1, m2, m3, m4, looks = {}, {}, {}, {}, {}

-- keep makes bucket k what it is after some charge.
local function keep(k, a, u, b, p, d)
  A[k], U[k], B[k], Q[k], V[k], D[k] = a, u, b, p, d, true
end

-- back takes back a charge that was made at the instant time.
local function back(p, k, cost, time)
  local t = p.twin
  if not Q[k] and not X[k] then
    open(k, p)
  end
  if not X[k] then
    local at, used, prior, d = under(A[k], U[k], B[k], Q[k], V[k], p)
    local a, u, b = t.back(at, used, prior, p, now, cost, time)
    if a ~= at or u ~= used or b ~= prior then
      keep(k, a, u, b, p, d and chargeDebt(d, -cost))
    end
  end
  tell(t, 1, 0, 0, 0, 0)
end

-- ask lets charge j ask its bucket, as charges before it in the request leave it.
local function ask(j, split)
  local kind, k, i = kinds[j], ck[j], last[ck[j]]
  local p = kind.policy
  if not Q[k] and not X[k] then
    open(k, p)
  end
  cx[j] = X[k]
  if X[k] then
    return
  end
  local at, used, prior, q, d = A[k], U[k], B[k], Q[k], V[k]
  if i then
    at, used, prior, q, d = fa[i], fu[i], fb[i], fp[i], fd[i]
  end
  last[k] = j
  if split and p.twin.list then
    local _, _, l, _, r, x = settle(at, used, prior, q, d, p, 0)
    looks[j] = {l, r, x}
  end
  ok[j], changes[j], m1[j], m2[j], m3[j], m4[j] = settle(at, used, prior, q, d, p, kind.cost, kind.forced, kind.delay)
  fa[j], fu[j], fb[j], fp[j], fd[j] = after.at, after.used, after.prior, after.params, after.debt
  refusal[j] = after.unlent and UNLENT or 0
  return ok[j]
end

-- wanted is what the bucket of charge j must have room for, before it passes: for what
-- all enforced charges of the request want of the bucket together, and for its own if
-- it is a shadow.
local function wanted(j, count)
  local k, sum, most, run, worst = ck[j], 0, 0, 0, 0
  for i = 1, count do
    local kind = kinds[i]
    if ck[i] == k and (i == j or not kind.shadow) then
      local cost = max(-MAX, min(kind.cost, MAX))
      sum, run = sum + cost, max(0, run + cost)
      if cost == 0 then
        most, worst = max(most, sum + 1), max(worst, run + 1)
      elseif cost > 0 and not kind.forced then
        most, worst = max(most, sum), max(worst, run)
      end
      if i == j and kind.shadow then
        break
      end
    end
  end
  local p = kinds[j].policy
  if worst > p.twin.capacity(p) then
    most = worst
  end
  return max(most, 1)
end

-- refuse answers a request that is refused, of untouched buckets: a charge that does
-- not fit is told when there is room for all that the request wants of its bucket. A
-- bucket that refused becomes what the refusal needs.
local function refuse(count, split)
  local seen = {}
  for j = 1, count do
    local k, kind = ck[j], kinds[j]
    local p = kind.policy
    local fit, changed, a, b, c, d
    if ok[j] then
      fit, changed, a, b, c, d = settle(A[k], U[k], B[k], Q[k], V[k], p, 0)
      if p.twin.list then
        b = 0
      end
      tell(p.twin, 1, a, b, c, d, split)
    else
      fit, changed, a, b, c, d = settle(A[k], U[k], B[k], Q[k], V[k], p, wanted(j, count), false, kind.delay)
      if fit then -- A refund before it gave back less than it names.
        tell(p.twin, refusal[j], m1[j], m2[j], m3[j], m4[j], split)
      else
        tell(p.twin, WANTED + (after.unlent and UNLENT or 0), a, b, c, d, split)
        if changed and not seen[k] and kind.cost ~= 0 then
          keep(k, after.at, after.used, after.prior, after.params, after.debt)
        else
          stale[k] = true
        end
      end
    end
    seen[k] = true
  end
end

-- request settles the one at first, whatever it is; it returns the position of the next.
local function request(first)
  local kind, count, refused, wrong = K[R[first]], 0, false, false
  if kind.flags % RARE >= BACK then
    back(kind.policy, R[first + 1], kind.cost, R[first + 2])
    return first + 3
  end
  local split = kind.flags % LAST >= SPLIT
  repeat
    kind, count = K[R[first]], count + 1
    kinds[count], ck[count] = kind, R[first + 1]
    local fit = ask(count, split)
    wrong = wrong or cx[count]
    refused = refused or not fit and not kind.shadow
    first = first + 2
  until kind.last
  for j = 1, count do
    last[ck[j]] = nil
  end
  if wrong then
    for j = 1, count do
      tell(kinds[j].policy.twin, cx[j] or UNASKED, 0, 0, 0, 0, split)
    end
  elseif refused then
    refuse(count, split)
  else
    for j = 1, count do
      tell(kinds[j].policy.twin, ok[j] and 1 or refusal[j], m1[j], m2[j], m3[j], m4[j], split, looks[j])
      if changes[j] then
        keep(ck[j], fa[j], fu[j], fb[j], fp[j], fd[j])
      elseif not ok[j] then
        stale[ck[j]] = true
      end
    end
  end
  return first
end

-- rare settles the request at first and answers it behind the first answers. It
-- returns the position of the next, and how many answers there are now.
function L.rare(first, answers)
  n = answers
  return request(first), n
end

L.read, L.open = read, open
L.shared = {S, A, U, B, E, Q, V, D, stale, X}
