-- The general script settles the requests of one call, one after the other, each all
-- or none. It is this text, which reads the arguments, and those of values.lua, which
-- reads the buckets, write.lua, and usual.lua, which decides what most calls ask. Inside
-- the function rest stand rest.lua, debt.lua, log.lua, read.lua for values of any
-- layout, settle.lua for a charge and request.lua for a request of any kind.
--
-- What shaped it: the script of a call begins with nothing, so each function and each
-- table that it makes costs every call some 0.1 µs, where a charge of a token bucket
-- costs 2 µs in all, and a command some 0.3 µs. So what most calls do not need is made
-- by rest when it is needed, what requests do one after the other is a loop without
-- functions, values are read by one command, and a cell is written in place: SETRANGE
-- costs 0.3 µs, SET with KEEPTTL 0.5 and with an expiry 0.9. To look at the expiry of
-- what is written in place costs 0.24 µs.
--
-- KEYS are the buckets, each once. ARGV[1] is doubles:
--
--   the instant in microseconds, 0 for the server's; milliseconds to keep more;
--   the number of policies; the number of kinds
--   for each policy: six params, the number of its twin
--   for each kind of charge: policy, flags, cost, the longest delay in microseconds
--   for each charge: kind, bucket; and, for one that takes a charge back, the
--   instant of that
--
-- The answer is packed by the format ARGV[2]: the instant, then for each charge
-- whether it fits and the cell that it met, or the verdict where a cell is a list. Of a
-- request that is refused it is the cell before the request; a charge that does not fit
-- has the flag WANTED where that was asked for all that the request wants of it, and
-- UNLENT where it could not be booked ahead.
-- The charges of a request that is split have behind that what a look at the list
-- would have told before.
-- Only what has changed is written.

local FORCED, SHADOW, AGAIN, SPLIT, LAST, ALONE, BACK, RARE = 1, 2, 4, 8, 16, 32, 64, 128

local call, keys, R = redis.call, KEYS, {unpack('<' .. rep('d', #ARGV[1] / 8), ARGV[1])}
local now, slack, pos, twins = R[1], R[2], 5, {}
if now == 0 then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- P are the policies. One whose params fit has at hand how long narrow values of it
-- are and what they end in, so that nobody reads these params again.
local P, lists = {}, false
for i = 1, R[3] do
  local id, p1, p2, p3 = R[pos + 6], R[pos], R[pos + 1], R[pos + 2]
  local t = twins[id]
  if not t then
    t = text(id)
    twins[id] = t
  end
  local p = {
    p1, p2, p3, R[pos + 3], R[pos + 4], R[pos + 5],
    twin = t, head = VERSION + 2 * id, below = 0, size = -1, tail = '',
  }
  if t.narrow and p1 < t.below1 and p2 < t.below2 and p3 < t.below3 then
    p.below, p.size, p.tail = t.below, t.size, pack(t.tail, p1, p2, p3)
  end
  P[i], lists = p, lists or t.list
  pos = pos + 7
end

-- K are the kinds of charges. Of a request either all charges are rare or none.
local K = {}
for i = 1, R[4] do
  local flags, delay = R[pos + 1], R[pos + 3]
  K[i] = {
    policy = P[R[pos]], cost = R[pos + 2], flags = flags, rare = flags >= RARE, last = flags % ALONE >= LAST,
    alone = flags % BACK >= ALONE, shadow = flags % AGAIN >= SHADOW, forced = flags % SHADOW >= FORCED,
    delay = delay > 0 and delay,
  }
  pos = pos + 4
end

