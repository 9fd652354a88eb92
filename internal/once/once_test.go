package once_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/once"
)

type (
	front struct{}
	back  struct{}
)

// enter begins a visit of identity in ctx.
func enter(ctx context.Context, identity any, d *stint.Decision) *once.Visit[front] {
	v := new(once.Visit[front])
	v.Begin(ctx, identity, once.Of[front](ctx), d)
	return v
}

func TestMetInThisVisitOrOutside(t *testing.T) {
	var nobody *once.Visit[front]
	outer := enter(t.Context(), "a", new(stint.Decision))
	inner := enter(outer, "b", new(stint.Decision))
	for _, c := range []struct {
		visit *once.Visit[front]
		met   string
	}{{nobody, ""}, {outer, "a"}, {inner, "ab"}, {once.Of[front](context.WithoutCancel(inner)), "ab"}} {
		met := ""
		for _, identity := range []string{"a", "b", "c"} {
			if c.visit.Met(identity) {
				met += identity
			}
		}
		if met != c.met {
			t.Errorf("met %q, want %q", met, c.met)
		}
	}
}

func TestDoorsDoNotSeeEachOther(t *testing.T) {
	type mine struct{}
	ctx := enter(context.WithValue(t.Context(), mine{}, 7), "a", new(stint.Decision))
	if once.Of[back](ctx).Met("a") {
		t.Error("the other door has met the limiter")
	}
	if ctx.Value(mine{}) != 7 {
		t.Error("the value of the context outside is gone")
	}
}

func TestDecisionIsACopyUntilLeave(t *testing.T) {
	d := stint.Decision{Results: []stint.Result{{Policy: "a"}}}
	v := enter(t.Context(), "a", &d)
	got, ok := v.Decision()
	d.Results[0].Policy = "other"
	if !ok || got.Results[0].Policy != "a" {
		t.Errorf("decision %+v, %t", got, ok)
	}
	v.Leave()
	if got, ok := v.Decision(); ok {
		t.Errorf("after the visit there is %+v", got)
	}
	if !v.Met("a") {
		t.Error("whoever keeps the context has not met the limiter")
	}
	if _, ok := once.Of[back](v).Decision(); ok {
		t.Error("a decision without a visit")
	}
}

func ExampleVisit() {
	limiter := "the only one"
	serve := func(ctx context.Context) context.Context {
		outer := once.Of[front](ctx)
		if outer.Met(limiter) {
			fmt.Println("passed on")
			return ctx
		}
		fmt.Println("charged")
		v := new(once.Visit[front])
		v.Begin(ctx, limiter, outer, new(stint.Decision))
		return v
	}
	serve(serve(context.Background()))
	// Output:
	// charged
	// passed on
}
