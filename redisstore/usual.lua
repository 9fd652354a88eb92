-- The loop over the requests: it settles those whose buckets are in the usual state,
-- counted under the same limit and without debt. The others are settled by rest.

-- The tables of buckets that rest makes.
local S, A, U, B, E, Q, V, D, stale, X
local length, n = #R, 1

-- Of the charges of one request but the last: the expiry of the bucket; the words to
-- put in place of those in the value, if that is all there is to do, or else whether it
-- fits, and the cell afterwards, if it is another.
local bytes, ok, fa, fu, fb, fe

if lists then
  rest()
end

while pos < length do
  local kind = K[R[pos]]
  local first, start, count, refused, usual = pos, n, 0, false, not kind.rare
  if usual and not kind.last and not ok then
    bytes, ok, fa, fu, fb, fe = {}, {}, {}, {}, {}, {}
  end
  local p, k, new, fit, a, u, b, exp
  while usual do
    p, k = kind.policy, R[pos + 1]
    pos, count = pos + 2, count + 1
    local t, alone, at, used, prior = p.twin, kind.alone, nil, nil, nil
    local three, cell, head, tail = t.three, nil, nil, nil
    if alone then
      local value = values[k]
      if not value then
        strange = strange or find()
        if not strange[k] then
          at, used, prior, exp = t.zero, 0, 0, 0
        end
      elseif #value == p.size then
        cell = t.cell
        head, exp, at, used, prior, tail = unpack(cell, value)
        if not three then
          prior, tail = 0, prior
        end
        if tail ~= p.tail or head ~= p.head then
          at = nil
        end
      else
        local q, d, old
        if not L then
          rest()
        end
        at, used, prior, exp, q, d, old = L.read(k, p)
        if q ~= p or d or old then
          at = nil
        end
      end
    else
      if not S then
        if not L then
          rest()
        end
        S, A, U, B, E, Q, V, D, stale, X = spread(L.shared, 1, 10)
      end
      if not Q[k] and not X[k] then
        L.open(k, p)
      end
      if Q[k] == p and not V[k] then
        at, used, prior = A[k], U[k], B[k]
      end
    end
    if not at then
      usual = false
      break
    end
    local cost, left, retry, reset, after = kind.cost, nil, nil, nil, nil
    fit, a, u, b, left, retry, reset, after = t.take(at, used, prior, p, now, cost, kind.forced, kind.delay)
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
    if a == at and u == used and b == prior or cost == 0 then
      a = nil
    end
    new = nil
    if not fit then
      refused = refused or not kind.shadow
    elseif a and cell then
      local ends, below = t.expires(a, u, b, p), p.below
      if ends > now and ends <= exp * 1000000 and u < below and b < below then
        new = pack(t.words, a, u, b)
      end
    end
    if kind.last then
      break
    end
    bytes[count], fe[count] = new, exp
    if not new then
      ok[count], fa[count], fu[count], fb[count] = fit, a, u, b
    end
    kind = K[R[pos]]
  end
  if not usual then
    -- The request has not changed anything yet.
    if not L then
      rest()
    end
    pos, n = L.rare(first, start)
  else
    -- What is to do for the last charge is at hand, for the others in the tables.
    while true do
      if new then
        if not refused then
          call('SETRANGE', keys[k], '6', new)
          if call('PTTL', keys[k]) == -1 then
            mend(k, exp)
          end
        end
      elseif a and not (refused and fit) then
        if kind.alone then
          write(k, exp, a, u, b, p)
        else
          A[k], U[k], B[k], D[k] = a, u, b, true
        end
      elseif not fit then
        if not kind.alone then
          stale[k] = true
        elseif values[k] and call('PTTL', keys[k]) == -1 then
          mend(k, exp)
        end
      end
      count = count - 1
      if count == 0 then
        break
      end
      kind, k, new, exp = K[R[first + 2 * count - 2]], R[first + 2 * count - 1], bytes[count], fe[count]
      if not new then
        p, fit, a, u, b = kind.policy, ok[count], fa[count], fu[count], fb[count]
      end
    end
  end
end

if L then
  S, A, U, B, E, Q, V, D, stale, X = spread(L.shared, 1, 10)
  for i = 1, #S do
    local k = S[i]
    if D[k] then
      write(k, E[k], A[k], U[k], B[k], Q[k], V[k])
    elseif stale[k] and values[k] and call('PTTL', keys[k]) == -1 then
      mend(k, E[k])
    end
  end
end

return pack(ARGV[2], spread(O, 1, n))
