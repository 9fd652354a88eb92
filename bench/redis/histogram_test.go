package main

import (
	"testing"
	"time"
)

func TestHistogramKnowsTimesToASixtyFourth(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 63, 64, 65, 127, 128, 999, 1_000_000, 123_456_789, time.Hour} {
		got := floor(class(d))
		if got > d || d-got > d/64 {
			t.Errorf("%v is in the class of %v", d, got)
		}
	}
	for c := range 40 << fine {
		if got := class(floor(c)); got != c {
			t.Fatalf("class %d begins at %v, which is in class %d", c, floor(c), got)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var h, more histogram
	for i := range 50 {
		h.add(time.Duration(i))
		more.add(time.Duration(50 + i))
	}
	h.merge(&more)
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{{0, 0}, {0.5, 50}, {0.99, 99}} {
		if got := h.quantile(c.q); got != c.want {
			t.Errorf("quantile %v is %v, want %v", c.q, got, c.want)
		}
	}
	if got := new(histogram).quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
}
