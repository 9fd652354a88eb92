package admin

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stint-dev/stint"
)

func TestSketchFindsHeavyKeysAmongMany(t *testing.T) {
	var s sketch
	random := rand.New(rand.NewPCG(1, 2))
	truth := map[string]int64{}
	const total = 50_000
	for i := range total {
		key := fmt.Sprint("once-", i)
		if n := random.IntN(10); n < 4 { // Four keys with a tenth of all each.
			key = fmt.Sprint("heavy-", n)
		}
		truth[key]++
		s.add("r", []byte(key), stint.Micros(i+1))
	}
	top := s.top(10)
	for _, k := range top[:4] {
		count := truth[string(k.Key)]
		if count < total/20 || k.Count < count || k.Count-k.Excess > count {
			t.Errorf("%s: %d of which up to %d too many, in truth %d", k.Key, k.Count, k.Excess, count)
		}
	}
	for _, k := range s.top(sketchSize) {
		if count := truth[string(k.Key)]; k.Count < count || k.Count-k.Excess > count {
			t.Errorf("%s: %d of which up to %d too many, in truth %d", k.Key, k.Count, k.Excess, count)
		}
	}
}

func TestSketchKeepsPoliciesApart(t *testing.T) {
	var s sketch
	for i, policy := range []string{"a", "b", "b"} {
		s.add(policy, []byte("k"), stint.Micros(i+1))
	}
	top := s.top(10)
	if len(top) != 2 || top[0].Policy != "b" || top[0].Count != 2 || top[0].Last != 3 || top[1].Count != 1 {
		t.Errorf("%+v", top)
	}
}

func TestSketchBoundsKeys(t *testing.T) {
	var s sketch
	long := make([]byte, stint.MaxKey)
	s.add("r", long, 1)
	long[stint.MaxKey-1] = 1
	s.add("r", long, 1)
	top := s.top(10)
	if len(top) != 2 || len(top[0].Key) != shownKey {
		t.Errorf("%d keys, the first of %d bytes", len(top), len(top[0].Key))
	}
}

func TestSketchIsSafeForConcurrentUse(t *testing.T) {
	var s sketch
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 1000 {
				s.add("r", []byte(fmt.Sprint(worker, i%60)), 1)
				if i%100 == 0 {
					s.top(5)
				}
			}
		})
	}
	wg.Wait()
	var sum int64
	for _, k := range s.top(sketchSize) {
		sum += k.Count
	}
	if sum != 4000 {
		t.Errorf("%d refusals, want 4000", sum)
	}
}
