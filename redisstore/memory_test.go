package redisstore_test

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// bucketBytes is the most memory that a bucket takes in Redis, where its key and
// the name of its rule have 25 bytes together. The reason for every byte, with an
// allocator whose sizes are 16, 32, 48, …:
//
//	8.0 to 16  its place in the table of keys, of a power of two
//	32         the table's entry: key, value, next
//	8.0 to 16  its place in the table of expiries
//	32         the entry there
//	48         the value: an object of 16 with a string of 3 + 28 + 1, or, once its
//	           bytes were replaced, an object of 16 and a string of 1 + 28 + 1
//	32         the key: 1 or 3 + 2 + 6 for the prefix, 2 for the braces, 1 for the
//	           length of the name, the name, the key
//
// that is 160.0 where the tables are full, 160.8 with a million buckets, and 176
// where the tables have just doubled. For less, a value would have to lose 16 of its
// 28 bytes; all that it knows of its limit is 10. With an allocator that has 24 and
// 40 too, as Redis is shipped with by its makers, the entries are 24: 144 to 160.
const bucketBytes = 178 + 4

func TestBytesOfABucket(t *testing.T) {
	t.Parallel()
	n := 100_000
	if text := os.Getenv("STINT_BUCKETS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	server := redistest.Start(t)
	store := open(t, server, redisstore.Options{})
	for _, a := range []stint.Algorithm{algo.TokenBucket, algo.FixedWindow, algo.SlidingWindowCounter} {
		server.Do("FLUSHALL")
		server.Do("MEMORY", "PURGE")
		p := policy(t, "per-user", "1000 per 24h", a)
		before := used(t, server)
		var wg sync.WaitGroup
		for worker := range 64 {
			wg.Go(func() {
				for i := worker; i < n; i += 64 {
					charges := []stint.Charge{{Policy: p, Key: []byte("user:" + strconv.Itoa(10_000_000+i)), Ask: stint.Ask{Cost: 7}}}
					var v [1]stint.Verdict
					for range 2 { // the second replaces the bytes of the first
						if _, err := store.Take(context.Background(), 0, charges, v[:]); err != nil {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		wg.Wait()
		for range 100 { // let the tables finish growing
			server.Do("PING")
		}
		per := float64(used(t, server)-before) / float64(n)
		t.Logf("%s: %.1f bytes for a bucket", a.Name(), per)
		if per > bucketBytes {
			t.Errorf("%s: %.1f bytes for a bucket, want at most %d", a.Name(), per, bucketBytes)
		}
	}
}

func used(t *testing.T, s *redistest.Server) int {
	t.Helper()
	n, err := strconv.Atoi(s.Info("memory")["used_memory"])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
