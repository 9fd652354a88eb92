package storetest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/storetest"
)

func TestReference(t *testing.T) {
	storetest.Run(t, func(*testing.T) stint.Store { return storetest.NewReference() })
}

// forgetful is a Reference that loses the charge of every thousandth request.
type forgetful struct {
	*storetest.Reference
	n int
}

func (f *forgetful) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	f.n++
	if f.n%1000 == 0 {
		charges = slices.Clone(charges)
		for i := range charges {
			charges[i].Cost = 0
		}
	}
	return f.Reference.Take(ctx, now, charges, verdicts)
}

func TestTwinsSeesALostCharge(t *testing.T) {
	p := storetest.Pair{A: storetest.NewReference(), B: &forgetful{Reference: storetest.NewReference()}, Seed: 1}
	if p.Differ(100) != nil {
		t.Error("the stores differ before a charge was lost")
	}
	if p.Differ(5000) == nil {
		t.Error("the stores do not differ")
	}
}

func TestParseVectorsNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"t=0 -> allow": "no case yet",
		"algorithm: token_bucket\ncase: x\nt=0 -> allow":                                        "3: ",
		"algorithm: bucket\ncase: x\nlimit: 1 per 1s":                                           `no algorithm is called "bucket"`,
		"algorithm: token_bucket\ncase: x\nlimit: 1 per 1s\nt=0 allow":                          "no ->",
		"algorithm: token_bucket\ncase: x\nlimit: 1 per 1s\nt=0 -> pass":                        "want allow or refuse",
		"algorithm: token_bucket\ncase: x\nlimit: 1 per 1s\nt=1.0000001 -> ":                    "six decimals",
		"algorithm: token_bucket\ncase: x\nlimit: 1 per 1s\nn=1 -> allow":                       "want t, cost",
		"algorithm: token_bucket\ncase: x\nlimit: 1 per 1s\nt=0 -> allow r=1":                   "want remaining",
		"algorithm: token_bucket\ncase: x\nlimit: 1 per 1s\nt=0 times=3 -> allow remaining=1,2": "2 values for 3 requests",
		"algorithm: leaky_queue\ncase: x\nqueue: max=1":                                         "want max_wait or max_waiting",
	} {
		if _, err := storetest.ParseVectors(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want it to say %q", text, err, want)
		}
	}
}

func FuzzParseVectors(f *testing.F) {
	f.Add("algorithm: token_bucket\ncase: x\nlimit: 3 per 1s\nt=0 times=3 every=0.1 -> allow remaining=2,1,0 retry=never\n")
	f.Add("algorithm: leaky_queue\ncase: q\nqueue: max_wait=1.5 max_waiting=2\nlimit: 3 per 1s\nt=-1 cost=-1 forced -> refuse")
	f.Fuzz(func(t *testing.T, text string) {
		vectors, err := storetest.ParseVectors(text)
		if err != nil {
			return
		}
		for _, v := range vectors {
			if len(v.Steps) > 0 && v.Steps[0].Policy == nil {
				t.Errorf("%q begins without a limit", v.Name)
			}
		}
	})
}

func TestLimitsInTurnOnTheReference(t *testing.T) {
	if err := (storetest.Turns{Store: storetest.NewReference(), Seed: storetest.Seed()}).Differ(2000); err != nil {
		t.Fatal(err)
	}
}
