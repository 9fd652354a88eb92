package measure

import (
	"errors"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1}, 5},
		{[]float64{100, 1, 2}, 2},
	} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

// TestRatioIsOfTheSameRound has a machine that is ten times slower in one round.
func TestRatioIsOfTheSameRound(t *testing.T) {
	walls := map[string][]float64{"a": {99, 10, 100, 12}, "b": {99, 20, 200, 24}}
	var subjects []Subject
	for _, name := range []string{"a", "b"} {
		round := -1
		subjects = append(subjects, Subject{Name: name, Run: func() Sample {
			round++
			return Sample{Wall: walls[name][round]}
		}})
	}
	r := Alternate(3, subjects)
	if got := r.Ratio("a", "b"); got != 0.5 {
		t.Errorf("ratio %v, want 0.5", got)
	}
	if got := r.Best([]string{"b", "a", "nobody"}); got != "a" {
		t.Errorf("best is %q, want a", got)
	}
	if s, ok := r.Median("a"); !ok || s.Wall != 12 {
		t.Errorf("median of a is %v, %v: want 12 without the first round", s.Wall, ok)
	}
}

func TestSampleCountsAllocations(t *testing.T) {
	var sink []*int
	s := Of(1000, 4, func(int) {
		mine := make([]*int, 0, 250)
		for i := range 250 {
			mine = append(mine, &i)
		}
		if len(mine) == 0 {
			sink = mine
		}
	})
	_ = sink
	if s.Wall <= 0 || s.Allocs > 2 {
		t.Errorf("got %+v: want time, and about one allocation for each operation at most", s)
	}
}

func TestTable(t *testing.T) {
	table := NewTable("who", "ns")
	table.Row("x × y", "12")
	table.Row("z")
	var b strings.Builder
	table.Write(&b, "Title")
	const want = "Title\n\n| who   | ns |\n| ----- | -: |\n| x × y | 12 |\n| z     |    |\n\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestGoals(t *testing.T) {
	for _, c := range []struct {
		goal Goal
		met  bool
	}{
		{Goal{Want: 1, Got: 1}, true},
		{Goal{Want: 1, Got: 1.01}, false},
		{Goal{Want: 0.95, Got: 0.9, AtLeast: true}, false},
		{Goal{Want: 0.95, Got: 1.2, AtLeast: true}, true},
	} {
		if c.goal.Met() != c.met {
			t.Errorf("%+v: met is %v", c.goal, !c.met)
		}
	}
}

func TestNoGoals(t *testing.T) {
	var b strings.Builder
	if WriteGoals(&b, nil); b.Len() > 0 {
		t.Errorf("got %q for no goals", b.String())
	}
}

// TestTakeTurns: everyone has a turn in each round, and the first round does not
// count.
func TestTakeTurns(t *testing.T) {
	ran := map[string]int{}
	var subjects []Taker[float64]
	for i, name := range []string{"a", "b", "c"} {
		subjects = append(subjects, Taker[float64]{Name: name, Run: func() (float64, error) {
			ran[name]++
			return float64(ran[name] * (i + 1)), nil
		}})
	}
	turns, err := TakeTurns(3, subjects)
	if err != nil {
		t.Fatal(err)
	}
	itself := func(r float64) float64 { return r }
	if !turns.Has("a") || turns.Has("d") || ran["b"] != 4 || turns.Median("b", itself) != 6 || turns.Ratio("c", "a", itself) != 3 {
		t.Errorf("%v, ran %v", turns, ran)
	}
	subjects[1].Run = func() (float64, error) { return 0, errors.New("no") }
	if _, err := TakeTurns(1, subjects); err == nil || err.Error() != "b: no" {
		t.Errorf("%v", err)
	}
}
