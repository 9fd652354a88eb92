-- A member of a fleet says that it is there. KEYS[1] is a sorted set: of each member
-- the moment, in milliseconds of the server's clock, up to which it counts. ARGV[1]
-- is the member; ARGV[2] how many milliseconds it counts from now; ARGV[3] the most
-- that any counts. The answer is 1 if it was not there, and how many are.
local key, time = KEYS[1], redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
-- The clock has been set back: who is there says so again.
redis.call('ZREMRANGEBYSCORE', key, '(' .. string.format('%.0f', now + ARGV[3]), '+inf')
local new = redis.call('ZADD', key, string.format('%.0f', now + ARGV[2]), ARGV[1])
redis.call('PEXPIRE', key, ARGV[3])
return {new, redis.call('ZCARD', key)}
