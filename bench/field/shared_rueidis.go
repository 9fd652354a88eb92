package field

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// fixedWindowText sends what the script of rueidislimiter sends: a counter and,
// under a key of its own, when its window ends.
const fixedWindowText = `
local ends = tonumber(redis.call('GET', KEYS[2]))
if not ends or ends < tonumber(ARGV[3]) then
  ends = tonumber(ARGV[2])
  redis.call('SET', KEYS[1], 0, 'PXAT', ends + 1000)
  redis.call('SET', KEYS[2], ARGV[2], 'PXAT', ends + 1000)
end
return {redis.call('INCRBY', KEYS[1], ARGV[1]), ends}`

// shareFixedWindow stands for rueidislimiter, which could not be fetched as a
// module: the same commands to the same two keys by the same client, written again.
func shareFixedWindow(at Redis, rules ...Rule) (Shared, error) {
	c, err := at.rueidisClient()
	if err != nil {
		return Shared{}, err
	}
	script := rueidis.NewLuaScript(fixedWindowText)
	return eachRule(rules, c.Close, func(prefix string, q Quota) (single, error) {
		return func(ctx context.Context, key string) (bool, error) {
			now := time.Now()
			bucket := "rueidislimiter:" + prefix + "{" + key + "}"
			answer, err := script.Exec(ctx, c, []string{bucket, bucket + ":ex"}, []string{
				"1", strconv.FormatInt(now.Add(q.Window).UnixMilli(), 10), strconv.FormatInt(now.UnixMilli(), 10),
			}).AsIntSlice()
			if err != nil || len(answer) != 2 {
				return false, orLength(err, len(answer))
			}
			return answer[0] <= q.Count, nil
		}, nil
	})
}

// textbookText is the token bucket as articles on rate limiting show it: a hash of
// the tokens and when they were counted, read, refilled, written and given an expiry.
const textbookText = `
local capacity, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1e6
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'time')
local tokens = tonumber(bucket[1] or capacity)
local since = math.max(0, now - tonumber(bucket[2] or now))
tokens = math.min(capacity, tokens + since * rate)
local allowed = 0
if tokens >= 1 then
  allowed, tokens = 1, tokens - 1
end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'time', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {allowed, math.floor(tokens)}`

func shareTextbook(at Redis, rules ...Rule) (Shared, error) {
	c, err := at.rueidisClient()
	if err != nil {
		return Shared{}, err
	}
	script := rueidis.NewLuaScript(textbookText)
	return eachRule(rules, c.Close, func(prefix string, q Quota) (single, error) {
		args := []string{
			strconv.FormatInt(q.Count, 10),
			strconv.FormatFloat(float64(q.Count)/q.Window.Seconds(), 'g', -1, 64),
			strconv.FormatInt(int64(math.Ceil(float64(q.Window)/float64(time.Millisecond))), 10),
		}
		return func(ctx context.Context, key string) (bool, error) {
			answer, err := script.Exec(ctx, c, []string{"bucket:" + prefix + key}, args).AsIntSlice()
			if err != nil || len(answer) != 2 {
				return false, orLength(err, len(answer))
			}
			return answer[0] == 1, nil
		}, nil
	})
}

// shareBare counts by INCR and lets the first of a window set the expiry: the least
// that can be done, and not safe, since a client may end between the two.
func shareBare(at Redis, rules ...Rule) (Shared, error) {
	c, err := at.rueidisClient()
	if err != nil {
		return Shared{}, err
	}
	return eachRule(rules, c.Close, func(prefix string, q Quota) (single, error) {
		return func(ctx context.Context, key string) (bool, error) {
			bucket := "count:" + prefix + key
			n, err := c.Do(ctx, c.B().Incr().Key(bucket).Build()).AsInt64()
			if err == nil && n == 1 {
				err = c.Do(ctx, c.B().Pexpire().Key(bucket).Milliseconds(q.Window.Milliseconds()).Build()).Error()
			}
			return err == nil && n <= q.Count, err
		}, nil
	})
}

// orLength is err, or what is wrong with an answer of another length.
func orLength(err error, n int) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("an answer of %d numbers: want 2", n)
}
