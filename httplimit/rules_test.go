package httplimit_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/rules"
)

func newRules(t *testing.T, store stint.Store, rule ...rules.Rule) *rules.Decider {
	t.Helper()
	set, err := rules.Compile(rules.Spec{Rules: rule})
	if err != nil {
		t.Fatal(err)
	}
	limiter := newLimiter(t, newClock())
	if store != nil {
		limiter.Store = store
	}
	return rules.NewDecider(limiter, set)
}

func rule(id, path string, count int64) rules.Rule {
	r := rules.Rule{ID: id, Key: []string{"ip"}, Limits: []stint.Limit{{Count: count, Window: time.Minute}}}
	if path != "" {
		r.Match.Path = []string{path}
	}
	return r
}

func TestC090SpellingsOfAPathAreOneCounter(t *testing.T) {
	const path = "/api/login"
	d := newRules(t, nil, rule("login", path, 3))
	srv := httptest.NewServer(newMiddleware(t, httplimit.Options{Decider: d})(hello))
	defer srv.Close()
	got := ""
	for _, target := range []string{
		path, "//api/login", "/api//login", "/api/./login", "/api/x/../login", "/api/%6Cogin", "/api/login?x=1",
		"http://host/api/login",
	} {
		got += letter(sendTarget(t, srv, target))
	}
	wantString(t, "statuses", got, "AAADDDDD")
}

func TestC108TwoRulesChargeOnceEach(t *testing.T) {
	d := newRules(t, nil, rule("global", "", 600), rule("route", "/", 300))
	limit := newMiddleware(t, httplimit.Options{Decider: d, Headers: httplimit.IETF})
	h := limit(limit(hello))
	var res *answer
	for range 300 {
		res = get(t, h)
		wantString(t, "status", letter(res), "A")
	}
	list, err := parseList(res.Header.Get("RateLimit"))
	if err != nil || len(list) != 2 || list[0].params["r"] != 300 || list[1].params["r"] != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	res = get(t, h)
	wantString(t, "one more", letter(res), "D")
	if p := readProblem(t, res); p.Rule != "route" {
		t.Errorf("%+v", p)
	}
}

// down is a store that never answers.
type down struct{}

func (down) Take(context.Context, stint.Micros, []stint.Charge, []stint.Verdict) (stint.Micros, error) {
	return 0, errors.New("connection refused")
}

func TestRulesWithoutTheirStore(t *testing.T) {
	d := newRules(t, down{}, rule("api", "", 600))
	res := get(t, newMiddleware(t, httplimit.Options{Decider: d})(hello))
	wantString(t, "status", letter(res), "D")
	wantHeader(t, res, "Retry-After", "1")
	for name := range res.Header {
		if strings.Contains(name, "Ratelimit") {
			t.Errorf("header %s", name)
		}
	}
	if p := readProblem(t, res); p.Rule != "api" || p.Limit != "" || len(p.Violated) > 0 {
		t.Errorf("%+v", p)
	}
}
