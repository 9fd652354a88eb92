package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

// weigh is row e. The others get a quarter of Stint's buckets, which is much
// quicker and fills the tables of Redis, whose sizes are powers of two, to the same
// part.
func (b *bench) weigh() error {
	t := measure.NewTable("limiter", "counts by", "buckets", "B/bucket", "keys of Redis/bucket", "buckets/s")
	for _, e := range field.SharedEntries() {
		if _, err := b.weighOne(t, e, b.keys/4); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	own := field.SharedEntries()[0]
	bytes, err := b.weighOne(t, own, b.keys)
	if err != nil {
		return fmt.Errorf("%s: %w", own.Name, err)
	}
	t.Write(b.w, `What a bucket takes in Redis, for keys like "`+user(1)+`"`)
	b.goals = append(b.goals, measure.Goal{
		What: fmt.Sprintf("used memory for each of %d buckets", b.keys), Want: 160, Got: bytes, Unit: " B",
	})
	return b.one.clear()
}

// weighOne lets a limiter write n buckets and compares used_memory before it came
// and after it has gone.
func (b *bench) weighOne(t *measure.Table, e field.SharedEntry, n int) (float64, error) {
	if err := b.one.clear(); err != nil {
		return 0, err
	}
	before, err := b.settled()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := b.fill(e, n); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	after, err := b.settled()
	if err != nil {
		return 0, err
	}
	got := after.since(before, 1)
	if got.keys < int64(n) {
		return 0, fmt.Errorf("%d keys after %d requests about as many", got.keys, n)
	}
	bytes := float64(got.memory) / float64(n)
	t.Row(e.Name, e.Counts, strconv.Itoa(n), measure.Num(bytes), measure.Num(float64(got.keys)/float64(n)), measure.Num(float64(n)/took.Seconds()))
	return bytes, nil
}

// settled is the state of the server when clients that have gone are forgotten and
// its tables are as large as they will be.
func (b *bench) settled() (stats, error) {
	time.Sleep(300 * time.Millisecond)
	return b.one.stats()
}

// fill asks once about each of n users.
func (b *bench) fill(e field.SharedEntry, n int) error {
	l, err := e.Open(b.one.at(callers), lasting)
	if err != nil {
		return err
	}
	defer l.Close()
	errs := make([]error, callers)
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := c; i < n && errs[c] == nil; i += callers {
				ok, err := l.Allow(context.Background(), []string{user(i)})
				if err == nil && !ok {
					err = fmt.Errorf("the first request of %s is refused", user(i))
				}
				errs[c] = err
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
