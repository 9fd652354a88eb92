package memstore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/storetest"
)

// FuzzStore asks a small store, in which there is room for all, what the reference
// is asked too. Five bytes are a charge: what it is, whose, its cost, and the time
// that passes.
func FuzzStore(f *testing.F) {
	f.Add([]byte("\x00\x01\x05\x00\x00\x10\x01\x05\x01\x00\x20\x02\x01\x00\x07"))
	f.Add([]byte(strings.Repeat("\x41\x04\x01\x00\x03\xff\x0c\x03\x02\x00", 9)))
	f.Add([]byte(strings.Repeat("\x02\x04\x09\x01\x00\x00\x04\xf0\x00\x00\x08\x04\x01\x80\x80", 7)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var policies []*stint.Policy
		for _, a := range algorithms() {
			policies = append(policies, named(t, a.Name(), stint.Limit{Count: 5, Window: 10 * time.Second}, a))
		}
		s, err := New(Options{MaxBuckets: 4 * int64(len(policies))})
		if err != nil {
			t.Fatal(err)
		}
		reference := storetest.NewReference()
		now := start
		var charges []stint.Charge
		for len(data) >= 5 {
			c, more := chargeOf(policies, data)
			charges = append(charges, c)
			now += stint.Micros(int(data[3])<<8|int(data[4])) * 1009
			if data = data[5:]; more && len(data) >= 5 && len(charges) < stint.MaxCharges {
				continue
			}
			got, want := make([]stint.Verdict, len(charges)), make([]stint.Verdict, len(charges))
			ask(t, s, now, charges, got)
			if _, err := reference.Take(context.Background(), now, charges, want); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v:\ngot  %+v\nwant %+v", charges, got, want)
			}
			charges = charges[:0]
		}
		checkStructure(t, s)
		if st := s.Stats(); st.EvictedInUse > 0 {
			t.Errorf("%+v, want no evictions", st)
		}
	})
}

// chargeOf reads a charge, and whether another one belongs to its request.
func chargeOf(policies []*stint.Policy, data []byte) (c stint.Charge, more bool) {
	c = stint.Charge{
		Policy: policies[int(data[1]>>2)%len(policies)], Key: []byte{'0' + data[1]&3},
		Ask:    stint.Ask{Cost: int64(int8(data[2])), Forced: data[0]&1 != 0},
		Shadow: data[0]&2 != 0,
	}
	if data[0]&4 != 0 {
		c.Cost <<= 56
	}
	return c, data[0]&0xc0 != 0
}

// ask takes a single charge the short way.
func ask(t *testing.T, s *Store, now stint.Micros, charges []stint.Charge, v []stint.Verdict) {
	t.Helper()
	var err error
	if c := charges[0]; len(charges) == 1 && !c.Shadow {
		_, v[0], err = s.TakeOne(context.Background(), now, c.Policy, string(c.Key), c.Ask)
	} else {
		_, err = s.Take(context.Background(), now, charges, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
