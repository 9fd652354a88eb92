package httplimit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/httplimit"
)

// problem is the body of a refusal.
type problem struct {
	Type       string   `json:"type"`
	Title      string   `json:"title"`
	Status     int      `json:"status"`
	Detail     string   `json:"detail"`
	Violated   []string `json:"violated-policies"`
	Rule       string   `json:"rule"`
	Limit      string   `json:"limit"`
	RetryAfter int      `json:"retry_after"`
}

func readProblem(t testing.TB, res *answer) problem {
	t.Helper()
	wantHeader(t, res, "Content-Type", "application/problem+json")
	var p problem
	if err := json.Unmarshal([]byte(res.Body), &p); err != nil {
		t.Fatalf("%v in %s", err, res.Body)
	}
	wantHeader(t, res, "Content-Length", strconv.Itoa(len(res.Body)))
	if p.Status != res.StatusCode {
		t.Errorf("status %d in the body of a %d", p.Status, res.StatusCode)
	}
	return p
}

func TestRefusalBody(t *testing.T) {
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "1 per minute")})(hello)
	get(t, h)
	got := readProblem(t, get(t, h))
	want := problem{
		Type:  "https://iana.org/assignments/http-problem-types#quota-exceeded",
		Title: "Quota exceeded", Status: 429, Detail: "Over the limit of default. Try again in 60 s.",
		Violated: []string{"default"}, Rule: "default", Limit: "1 per minute", RetryAfter: 60,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestC110RefusalsAreNotStored(t *testing.T) {
	outer := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=300")
			w.Header().Set("CDN-Cache-Control", "max-age=300")
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Expires", "Fri, 01 Jan 2100 00:00:00 GMT")
			w.Header().Set("Last-Modified", "Fri, 01 Jan 2010 00:00:00 GMT")
			next.ServeHTTP(w, r)
		})
	}
	h := outer(newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "1 per minute")})(hello))
	res := get(t, h)
	wantString(t, "first", letter(res), "A")
	wantHeader(t, res, "Cache-Control", "public, max-age=300")
	wantHeader(t, res, "ETag", `"v1"`)
	res = get(t, h)
	wantString(t, "second", letter(res), "D")
	wantHeader(t, res, "Cache-Control", "no-store")
	for _, name := range []string{"CDN-Cache-Control", "ETag", "Expires", "Last-Modified"} {
		wantHeader(t, res, name)
	}
}

func TestRefusedHEADHasTheHeadersAndNoBody(t *testing.T) {
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "1 per minute")})(hello)
	srv := httptest.NewServer(h)
	defer srv.Close()
	get(t, h, "peer 127.0.0.1:1")
	got, err := http.Get(srv.URL)
	long := read(t, got, err)
	got, err = http.Head(srv.URL)
	short := read(t, got, err)
	if short.StatusCode != http.StatusTooManyRequests || short.Body != "" {
		t.Errorf("status %d, body %q", short.StatusCode, short.Body)
	}
	for name, want := range long.Header {
		if name != "Date" {
			wantHeader(t, short, name, want...)
		}
	}
	wantHeader(t, short, "Content-Length", strconv.Itoa(len(long.Body)))
	recorder := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodHead, "/", nil)
	r.RemoteAddr = "127.0.0.1:1"
	if h.ServeHTTP(recorder, r); recorder.Body.Len() > 0 {
		t.Errorf("wrote %q", recorder.Body)
	}
}

func TestC129RefusedGRPC(t *testing.T) {
	grpc := func(h http.Handler, contentType string) *answer {
		r := httptest.NewRequest(http.MethodPost, "/pkg.Service/Call", strings.NewReader("\x00\x00\x00\x00\x00"))
		return send(t, h, r, "Content-Type: "+contentType)
	}
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "2 per minute")})(hello)
	grpc(h, "application/grpc")
	grpc(h, "application/grpc")
	for contentType, want := range map[string]string{
		"application/grpc":          "application/grpc",
		"application/grpc+proto":    "application/grpc",
		"application/grpc-web-text": "application/grpc-web+proto",
	} {
		res := grpc(h, contentType)
		if res.StatusCode != http.StatusOK {
			t.Errorf("status %d", res.StatusCode)
		}
		wantHeader(t, res, "Grpc-Status", "8")
		wantHeader(t, res, "Grpc-Message", "Over the limit of default. Try again in 60 s.")
		wantHeader(t, res, "Retry-After", "60")
		wantHeader(t, res, "Content-Type", want)
		if res.Body != "" {
			t.Errorf("body %q", res.Body)
		}
	}
	wantString(t, "not gRPC", letter(send(t, h, httptest.NewRequest(http.MethodPost, "/", nil), "Content-Type: application/json")), "D")

	broken := decide(func(stint.Source, *stint.Decision) error { return errors.New("no store") })
	wantHeader(t, grpc(newMiddleware(t, httplimit.Options{Decider: broken})(hello), "application/grpc"), "Grpc-Status", "14")
	odd := decide(func(_ stint.Source, d *stint.Decision) error {
		d.Refuse(stint.ReasonLimit, stint.Result{Policy: "50% é\n"})
		return nil
	})
	wantHeader(t, grpc(newMiddleware(t, httplimit.Options{Decider: odd})(hello), "application/grpc"), "Grpc-Message",
		"Over the limit of 50%25 %C3%A9%0A. Try again in 1 s.")
}

func TestRefusalsByReason(t *testing.T) {
	result := stint.Result{
		Policy: "api", Limit: stint.Limit{Count: 5, Window: 60e9}, Capacity: 5, Cost: 9, Verdict: stint.Verdict{RetryAfter: stint.Never},
	}
	for _, tt := range []struct {
		reason stint.Reason
		status int
		retry  []string
		rate   bool
		kind   string
		detail string
	}{
		{stint.ReasonNever, 429, nil, true, "#quota-exceeded", "The request costs 9, which is more than api ever lets through (5)."},
		{stint.ReasonBlocked, 429, nil, true, "#quota-exceeded", "All requests are refused by api."},
		{stint.ReasonMissingKey, 403, nil, false, "about:blank", "The request lacks a value that the limit needs to tell clients apart."},
		{stint.ReasonTooLarge, 431, nil, false, "about:blank", "A part of the request is larger than the rate limiter reads."},
		{"", 429, nil, true, "#quota-exceeded", "The request was refused."},
	} {
		t.Run(string(tt.reason), func(t *testing.T) {
			d := decide(func(_ stint.Source, d *stint.Decision) error {
				d.Refuse(tt.reason, result)
				return nil
			})
			res := get(t, newMiddleware(t, httplimit.Options{Decider: d})(hello))
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d", res.StatusCode, tt.status)
			}
			wantHeader(t, res, "Retry-After", tt.retry...)
			wantHeader(t, res, "Cache-Control", "no-store")
			if got := res.Header.Get("RateLimit") != ""; got != tt.rate {
				t.Errorf("rate headers: %v, want %v", got, tt.rate)
			}
			p := readProblem(t, res)
			if !strings.HasSuffix(p.Type, tt.kind) || p.Detail != tt.detail {
				t.Errorf("%+v", p)
			}
		})
	}
}

// No answer has more fields than there is room for.
func TestAllFieldsAtOnce(t *testing.T) {
	o := httplimit.Options{Decider: newSingle(t, newClock(), "1 per minute"), Headers: httplimit.GitHub | httplimit.IETF}
	h := newMiddleware(t, o)(hello)
	const origin = "Origin: https://app.example"
	if got := len(get(t, h, origin).Header); got != 9 {
		t.Errorf("allowed: %d fields", got)
	}
	if got := len(get(t, h, origin).Header); got != 12 {
		t.Errorf("refused: %d fields", got)
	}
	if got := len(get(t, h, origin, "Content-Type: application/grpc").Header); got != 13 {
		t.Errorf("refused gRPC: %d fields", got)
	}
}

func TestLimitOfZero(t *testing.T) {
	h := newMiddleware(t, httplimit.Options{Decider: newSingle(t, newClock(), "0 per minute")})(hello)
	res := get(t, h)
	wantString(t, "status", letter(res), "D")
	wantHeader(t, res, "Retry-After")
	wantHeader(t, res, "RateLimit-Policy", `"default";q=0;w=60`)
	wantHeader(t, res, "RateLimit", `"default";r=0`)
}

func TestZeroDecisionIsARefusal(t *testing.T) {
	d := decide(func(stint.Source, *stint.Decision) error { return nil })
	res := get(t, newMiddleware(t, httplimit.Options{Decider: d})(hello))
	wantString(t, "status", letter(res), "D")
	readProblem(t, res)
}

func TestDeciderThatFails(t *testing.T) {
	broken := errors.New("no store")
	d := decide(func(_ stint.Source, d *stint.Decision) error {
		d.Allowed = true
		return broken
	})
	var told error
	o := httplimit.Options{Decider: d, OnError: func(_ *http.Request, err error) { told = err }}

	res := get(t, newMiddleware(t, o)(hello), "Origin: https://app.example")
	wantString(t, "closed", letter(res), "D")
	wantHeader(t, res, "Retry-After", "1")
	wantHeader(t, res, "X-RateLimit-Limit")
	if p := readProblem(t, res); p.Title != "Rate limiter unavailable" || p.Limit != "" || len(p.Violated) > 0 {
		t.Errorf("%+v", p)
	}
	if !errors.Is(told, broken) {
		t.Errorf("told %v", told)
	}

	o.DenyStatus = http.StatusServiceUnavailable
	if res := get(t, newMiddleware(t, o)(hello)); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", res.StatusCode)
	}

	o.FailOpen = true
	seen := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if d, ok := httplimit.FromContext(r.Context()); !ok || !d.Allowed || !d.Degraded {
			t.Errorf("decision %+v, %v", d, ok)
		}
	})
	res = get(t, newMiddleware(t, o)(seen))
	wantString(t, "open", letter(res), "A")
	wantHeader(t, res, "X-RateLimit-Limit")
}

func TestDenyReplacesStatusAndBody(t *testing.T) {
	o := httplimit.Options{
		Decider: newSingle(t, newClock(), "1 per minute"),
		Deny: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d, ok := httplimit.FromContext(r.Context())
			w.WriteHeader(420)
			fmt.Fprintf(w, "calm down, %s (%v, %v)", d.Policy, d.Reason, ok)
		}),
	}
	h := newMiddleware(t, o)(hello)
	get(t, h)
	res := get(t, h)
	wantString(t, "body", res.Body, "calm down, default (limit, true)")
	if res.StatusCode != 420 {
		t.Errorf("status %d", res.StatusCode)
	}
	wantHeader(t, res, "Retry-After", "60")
	wantHeader(t, res, "Cache-Control", "no-store")
	wantHeader(t, res, "X-RateLimit-Remaining", "0")
}

func TestOptionsThatCanNotBe(t *testing.T) {
	_, err := httplimit.New(httplimit.Options{
		Headers: httplimit.XRateLimit | httplimit.GitHub, DenyStatus: 200, MaxBody: -1, ClientHeader: "a b",
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"no decider", "choose one", "deny status 200", "max body -1", `"a b"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	policy := newPolicy(t, "p", "1 per minute", algo.TokenBucket)
	for _, tt := range []struct {
		single *httplimit.Single
		want   string
	}{
		{nil, "single is nil"},
		{&httplimit.Single{Policy: policy, Key: httplimit.ByIP}, "no limiter"},
		{&httplimit.Single{Limiter: &stint.Limiter{}, Key: httplimit.ByIP}, "no policy"},
		{&httplimit.Single{Limiter: &stint.Limiter{}, Policy: policy}, "no key: choose one"},
		{&httplimit.Single{Limiter: &stint.Limiter{}, Policy: policy, Key: httplimit.ByIP, Missing: 9}, "unknown Missing"},
	} {
		if _, err := httplimit.New(httplimit.Options{Decider: tt.single}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
		if tt.single != nil {
			var d stint.Decision
			if err := tt.single.Decide(t.Context(), nil, &d); err == nil || d.Allowed {
				t.Errorf("decided without %s", tt.want)
			}
		}
	}
}
