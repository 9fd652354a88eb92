package field

import (
	"context"
	"math/rand/v2"
	"strconv"

	"github.com/redis/rueidis"
)

// logText is the sliding window log as articles on rate limiting show it: a sorted set
// of the instants of a key, cut, counted and added to.
const logText = `
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
if redis.call('ZCARD', KEYS[1]) >= limit then
  return 0
end
redis.call('ZADD', KEYS[1], now, now .. '-' .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))
return 1`

// ShareTextbookLog opens a log of sorted sets for one rule.
func ShareTextbookLog(at Redis, rules ...Rule) (Shared, error) {
	c, err := at.rueidisClient()
	if err != nil {
		return Shared{}, err
	}
	script := rueidis.NewLuaScript(logText)
	return eachRule(rules, c.Close, func(prefix string, q Quota) (single, error) {
		limit, window := strconv.FormatInt(q.Count, 10), strconv.FormatInt(q.Window.Microseconds(), 10)
		return func(ctx context.Context, key string) (bool, error) {
			member := strconv.FormatUint(rand.Uint64(), 36)
			n, err := script.Exec(ctx, c, []string{"log:" + prefix + key}, []string{limit, window, member}).AsInt64()
			return n == 1, err
		}, nil
	})
}
