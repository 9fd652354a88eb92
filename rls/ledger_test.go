package rls_test

import (
	"strings"
	"testing"

	"github.com/stint-dev/stint/descriptors"
)

// The rows are a file's descriptors below domain: d, and calls with their answers.
// All calls come at one instant.
func TestDescriptorsAnswerAsTheFormatSays(t *testing.T) {
	for _, row := range []struct {
		name  string
		file  string
		calls string
	}{
		{"a key and a value", `
- {key: db, value: users, rate_limit: {unit: second, requests_per_unit: 2}}`, `
db=users -> ok: ok 1/2se
db=users -> ok: ok 0/2se
db=users -> over: over 0/2se`},

		{"another value has no limit", `
- {key: db, value: users, rate_limit: {unit: second, requests_per_unit: 1}}`, `
db=orders -> ok: ok
db=Users -> ok: ok`},

		{"another key has no limit", `
- {key: db, value: users, rate_limit: {unit: second, requests_per_unit: 1}}`, `
database=users -> ok: ok`},

		{"a key alone counts each value by itself", `
- {key: ip, rate_limit: {unit: minute, requests_per_unit: 2}}`, `
ip=10.0.0.1 -> ok: ok 1/2mi
ip=10.0.0.1 -> ok: ok 0/2mi
ip=10.0.0.2 -> ok: ok 1/2mi
ip=10.0.0.1 -> over: over 0/2mi`},

		{"an empty value is a value of a key alone", `
- {key: ip, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
ip= -> ok: ok 0/1mi
ip= -> over: over 0/1mi
ip=x -> ok: ok 0/1mi`},

		{"an exact value goes before the key alone", `
- {key: ip, rate_limit: {unit: minute, requests_per_unit: 5}}
- {key: ip, value: 10.0.0.1, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
ip=10.0.0.1 -> ok: ok 0/1mi
ip=10.0.0.1 -> over: over 0/1mi
ip=10.0.0.2 -> ok: ok 4/5mi`},

		{"an exact value goes before a wildcard, wherever it stands", `
- {key: path, value: /a*, rate_limit: {unit: hour, requests_per_unit: 9}}
- {key: path, value: /ab, rate_limit: {unit: hour, requests_per_unit: 2}}`, `
path=/ab -> ok: ok 1/2ho
path=/abc -> ok: ok 8/9ho`},

		{"a wildcard goes before the key alone", `
- {key: path, rate_limit: {unit: hour, requests_per_unit: 9}}
- {key: path, value: /a*, rate_limit: {unit: hour, requests_per_unit: 2}}`, `
path=/a1 -> ok: ok 1/2ho
path=/b1 -> ok: ok 8/9ho`},

		{"the longest prefix goes first, whatever the order", `
- {key: path, value: "*", rate_limit: {unit: hour, requests_per_unit: 1}}
- {key: path, value: /a/*, rate_limit: {unit: hour, requests_per_unit: 2}}
- {key: path, value: /a/b/*, rate_limit: {unit: hour, requests_per_unit: 3}}
- {key: path, value: /*, rate_limit: {unit: hour, requests_per_unit: 4}}`, `
path=/a/b/c -> ok: ok 2/3ho
path=/a/c -> ok: ok 1/2ho
path=/z -> ok: ok 3/4ho
path=z -> ok: ok 0/1ho`},

		{"of equal prefixes the one with more text goes first", `
- {key: path, value: /u/*, rate_limit: {unit: hour, requests_per_unit: 1}}
- {key: path, value: /u/*/posts, rate_limit: {unit: hour, requests_per_unit: 2}}`, `
path=/u/7/posts -> ok: ok 1/2ho
path=/u/7/likes -> ok: ok 0/1ho`},

		{"a wildcard stands for no text too", `
- {key: path, value: /a*, rate_limit: {unit: hour, requests_per_unit: 1}}`, `
path=/a -> ok: ok 0/1ho
path=/ -> ok: ok`},

		{"wildcards at the front, in the middle, several", `
- {key: k, value: "*.js", rate_limit: {unit: hour, requests_per_unit: 1}}
- {key: k, value: a*z, rate_limit: {unit: hour, requests_per_unit: 2}}
- {key: k, value: "x*y*w", rate_limit: {unit: hour, requests_per_unit: 3}}`, `
k=app.js -> ok: ok 0/1ho
k=a-z -> ok: ok 1/2ho
k=az -> ok: ok 1/2ho
k=xyw -> ok: ok 2/3ho
k=x1y2w -> ok: ok 2/3ho
k=xw -> ok: ok
k=a -> ok: ok`},

		{"values of a wildcard count apart", `
- {key: path, value: /a*, rate_limit: {unit: hour, requests_per_unit: 1}}`, `
path=/a1 -> ok: ok 0/1ho
path=/a2 -> ok: ok 0/1ho
path=/a1 -> over: over 0/1ho`},

		{"values of a wildcard share a count if the file says so", `
- {key: path, value: /a*, share_threshold: true, rate_limit: {unit: hour, requests_per_unit: 2}}`, `
path=/a1 -> ok: ok 1/2ho
path=/a2 -> ok: ok 0/2ho
path=/a3 -> over: over 0/2ho`},

		{"a shared wildcard above a limit shares, the level below counts by value", `
- key: path
  value: /a*
  share_threshold: true
  descriptors:
  - {key: ip, rate_limit: {unit: hour, requests_per_unit: 1}}`, `
path=/a1 ip=x -> ok: ok 0/1ho
path=/a2 ip=x -> over: over 0/1ho
path=/a2 ip=y -> ok: ok 0/1ho`},

		{"two levels", `
- key: plan
  value: free
  descriptors:
  - {key: path, rate_limit: {unit: day, requests_per_unit: 1}}`, `
plan=free path=/a -> ok: ok 0/1da
plan=free path=/a -> over: over 0/1da
plan=paid path=/a -> ok: ok`},

		{"a value above counts apart below", `
- key: user
  descriptors:
  - {key: path, value: /a, rate_limit: {unit: day, requests_per_unit: 1}}`, `
user=u1 path=/a -> ok: ok 0/1da
user=u2 path=/a -> ok: ok 0/1da
user=u1 path=/a -> over: over 0/1da`},

		{"five levels", `
- key: a
  descriptors:
  - key: b
    descriptors:
    - key: c
      value: "3"
      descriptors:
      - key: d
        descriptors:
        - {key: e, value: e*, rate_limit: {unit: week, requests_per_unit: 4}}`, `
a=1 b=2 c=3 d=4 e=e5 -> ok: ok 3/4we
a=1 b=2 c=4 d=4 e=e5 -> ok: ok
a=1 b=2 c=3 d=4 -> ok: ok
a=1 b=2 c=3 d=4 e=e5 f=6 -> ok: ok`},

		{"a longer request has no limit", `
- {key: a, rate_limit: {unit: day, requests_per_unit: 1}}`, `
a=1 b=2 -> ok: ok
a=1 -> ok: ok 0/1da`},

		{"a shorter request has the limit of its own level only", `
- key: a
  rate_limit: {unit: day, requests_per_unit: 5}
  descriptors:
  - {key: b, rate_limit: {unit: day, requests_per_unit: 1}}`, `
a=1 -> ok: ok 4/5da
a=1 b=2 -> ok: ok 0/1da
a=1 -> ok: ok 3/5da
b=2 -> ok: ok`},

		{"the order of entries counts", `
- key: a
  descriptors:
  - {key: b, rate_limit: {unit: day, requests_per_unit: 1}}`, `
b=2 a=1 -> ok: ok
a=1 b=2 -> ok: ok 0/1da`},

		{"a level that was matched is not left again", `
- key: a
  value: x
  descriptors:
  - {key: b, value: "1", rate_limit: {unit: day, requests_per_unit: 1}}
- key: a
  descriptors:
  - {key: b, rate_limit: {unit: day, requests_per_unit: 7}}`, `
a=x b=1 -> ok: ok 0/1da
a=x b=2 -> ok: ok
a=y b=2 -> ok: ok 6/7da`},

		{"a value without a limit is free", `
- {key: ip, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: ip, value: 10.0.0.9}
- {key: ip, value: "192.*"}`, `
ip=10.0.0.9 -> ok: ok
ip=192.168.0.1 -> ok: ok
ip=10.0.0.1 -> ok: ok 0/1da`},

		{"unlimited", `
- {key: ip, rate_limit: {unlimited: true}}`, `
ip=1 -> ok: ok unlimited
ip=1 +4000000000 -> ok: ok unlimited`},

		{"a limit of 0 refuses everything", `
- {key: ip, value: bad, rate_limit: {unit: second, requests_per_unit: 0}}`, `
ip=bad -> over: over 0/0se
ip=bad +0 -> over: over 0/0se`},

		{"the largest limit", `
- {key: ip, rate_limit: {unit: year, requests_per_unit: 4294967295}}`, `
ip=1 -> ok: ok 4294967294/4294967295ye`},

		{"every unit", `
- {key: u, value: s, rate_limit: {unit: second, requests_per_unit: 1}}
- {key: u, value: m, rate_limit: {unit: MINUTE, requests_per_unit: 1}}
- {key: u, value: h, rate_limit: {unit: Hour, requests_per_unit: 1}}
- {key: u, value: d, rate_limit: {unit: day, requests_per_unit: 1}}
- {key: u, value: w, rate_limit: {unit: week, requests_per_unit: 1}}
- {key: u, value: mo, rate_limit: {unit: month, requests_per_unit: 1}}
- {key: u, value: y, rate_limit: {unit: year, requests_per_unit: 1}}`, `
u=s | u=m | u=h | u=d | u=w | u=mo | u=y -> ok: ok 0/1se | ok 0/1mi | ok 0/1ho | ok 0/1da | ok 0/1we | ok 0/1mo | ok 0/1ye`},

		{"several units, and windows", `
- {key: u, value: a, rate_limit: {unit: second, unit_multiplier: 10, requests_per_unit: 1}}
- {key: u, value: b, rate_limit: {window: 1m30s, requests_per_unit: 2}}
- {key: u, value: c, rate_limit: {window: 250ms, requests_per_unit: 3}}
- {key: u, value: d, rate_limit: {window: 2 days, requests_per_unit: 4}}`, `
u=a | u=b | u=c | u=d -> ok: ok 0/1*10se | ok 1/2*90se | ok 2/3un | ok 3/4*2da`},

		{"a name is told", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 3, name: by-a}}`, `
a=1 -> ok: ok 2/3mi by-a`},

		{"two descriptors are charged together", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 2}}
- {key: b, rate_limit: {unit: minute, requests_per_unit: 3}}`, `
a=1 | b=1 -> ok: ok 1/2mi | ok 2/3mi
a=1 | b=1 -> ok: ok 0/2mi | ok 1/3mi
a=1 | b=1 -> over: over 0/2mi | ok 1/3mi
b=1 -> ok: ok 0/3mi`},

		{"descriptors without a limit beside one with", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
x=1 | a=1 | y=1 z=2 -> ok: ok | ok 0/1mi | ok
x=1 | a=1 | y=1 z=2 -> over: ok | over 0/1mi | ok`},

		{"one descriptor twice is charged twice", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 2}}`, `
a=1 | a=1 -> ok: ok 1/2mi | ok 0/2mi
a=1 | a=1 -> over: over 0/2mi | over 0/2mi`},

		{"shadow mode counts and lets through", `
- {key: a, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
a=1 -> ok: ok 0/1mi
a=1 -> ok: ok 0/1mi
a=2 -> ok: ok 0/1mi`},

		{"a shadow beside a limit: only the limit refuses", `
- {key: a, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: b, rate_limit: {unit: minute, requests_per_unit: 2}}`, `
a=1 | b=1 -> ok: ok 0/1mi | ok 1/2mi
a=1 | b=1 -> ok: ok 0/1mi | ok 0/2mi
a=1 | b=1 -> over: ok 0/1mi | over 0/2mi`},

		{"a shadow of nothing refuses nothing", `
- {key: a, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 0}}`, `
a=1 -> ok: ok 0/0mi`},

		{"a single quota is a limit", `
- {key: q, quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
q=1 -> ok: ok 0/1mi
q=1 -> over: over 0/1mi`},

		{"quotas refuse when all are over", `
- {key: q, quota_mode: true, value: big, rate_limit: {unit: minute, requests_per_unit: 3}}
- {key: q, quota_mode: true, value: small, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
q=big | q=small -> ok: ok 2/3mi | ok 0/1mi
q=big | q=small -> ok: ok 1/3mi | ok 0/1mi
q=big | q=small -> ok: ok 0/3mi | ok 0/1mi
q=big | q=small -> over: over 0/3mi | over 0/1mi`},

		{"a limit beside quotas refuses alone and charges nothing", `
- {key: q, quota_mode: true, value: a, rate_limit: {unit: minute, requests_per_unit: 5}}
- {key: q, quota_mode: true, value: b, rate_limit: {unit: minute, requests_per_unit: 5}}
- {key: hard, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
q=a | q=b | hard=1 -> ok: ok 4/5mi | ok 4/5mi | ok 0/1mi
q=a | q=b | hard=1 -> over: ok 4/5mi | ok 4/5mi | over 0/1mi
q=a -> ok: ok 3/5mi`},

		{"when all quotas are over the limit beside them is given back", `
- {key: q, quota_mode: true, value: a, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: q, quota_mode: true, value: b, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: hard, rate_limit: {unit: minute, requests_per_unit: 5}}`, `
q=a | q=b | hard=1 -> ok: ok 0/1mi | ok 0/1mi | ok 4/5mi
q=a | q=b | hard=1 -> over: over 0/1mi | over 0/1mi | ok 4/5mi
hard=1 -> ok: ok 3/5mi`},

		{"a limit replaces another of the request", `
- {key: all, rate_limit: {unit: minute, requests_per_unit: 1, name: general}}
- {key: vip, rate_limit: {unit: minute, requests_per_unit: 5, replaces: [{name: general}]}}`, `
all=1 | vip=x -> ok: ok | ok 4/5mi
all=1 | vip=x -> ok: ok | ok 3/5mi
all=1 -> ok: ok 0/1mi general
all=1 -> over: over 0/1mi general
vip=x | all=1 -> ok: ok 2/5mi | ok`},

		{"what is replaced still replaces", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 1, name: a, replaces: [{name: b}]}}
- {key: b, rate_limit: {unit: minute, requests_per_unit: 1, name: b, replaces: [{name: c}]}}
- {key: c, rate_limit: {unit: minute, requests_per_unit: 1, name: c}}`, `
a=1 | b=1 | c=1 -> ok: ok 0/1mi a | ok | ok
b=1 | c=1 -> ok: ok 0/1mi b | ok`},

		{"an unlimited one replaces too, and all of one name go", `
- {key: free, rate_limit: {unlimited: true, replaces: [{name: x}, {name: y}]}}
- {key: a, rate_limit: {unit: minute, requests_per_unit: 1, name: x}}
- {key: b, rate_limit: {unit: minute, requests_per_unit: 1, name: x}}
- {key: c, rate_limit: {unit: minute, requests_per_unit: 1, name: y}}
- {key: d, rate_limit: {unit: minute, requests_per_unit: 1, name: z}}`, `
free=1 | a=1 | b=1 | c=1 | d=1 -> ok: ok unlimited | ok | ok | ok | ok 0/1mi z`},

		{"hits of the request", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 10}}`, `
x4 a=1 -> ok: ok 6/10mi
x0 a=1 -> ok: ok 5/10mi
x6 a=1 -> over: over 5/10mi
x5 a=1 -> ok: ok 0/10mi`},

		{"hits of a descriptor go before those of the request", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 10}}
- {key: b, rate_limit: {unit: minute, requests_per_unit: 10}}`, `
x3 a=1 +5 | b=1 -> ok: ok 5/10mi | ok 7/10mi
x3 a=1 +0 | b=1 -> ok: ok 5/10mi | ok 4/10mi`},

		{"hits that never fit charge nothing", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 10}}`, `
a=1 +4503599627370496 -> over: over 10/10mi
a=1 -> ok: ok 9/10mi`},

		{"negative hits give back, at most all", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 10}}`, `
x7 a=1 -> ok: ok 3/10mi
a=1 -5 -> ok: ok 8/10mi
a=1 -99 -> ok: ok 10/10mi`},

		{"a limit of the request goes before that of the file", `
- {key: a, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
a=1 #3/HOUR -> ok: ok 2/3ho
a=1 #3/HOUR -> ok: ok 1/3ho
a=1 -> ok: ok 0/1mi
a=1 b=2 #3/HOUR -> ok: ok 2/3ho`},

		{"a limit of the request needs no rule, and counts on when it changes", `
- {key: other, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
a=1 +2 #2/DAY -> ok: ok 0/2da
a=1 #2/DAY -> over: over 0/2da
a=1 #5/DAY -> ok: ok 2/5da
a=2 #2/DAY -> ok: ok 1/2da
a=1 #7/3*MINUTE -> ok: ok 6/7*3mi`},

		{"limits of the request for two windows stand beside each other", `
- {key: other, rate_limit: {unit: minute, requests_per_unit: 1}}`, `
a=1 #2/SECOND | a=1 #5/DAY -> ok: ok 1/2se | ok 4/5da
a=1 #2/SECOND | a=1 #5/DAY -> ok: ok 0/2se | ok 3/5da
a=1 #2/SECOND | a=1 #5/DAY -> over: over 0/2se | ok 3/5da
a=1 #9/60*SECOND -> ok: ok 8/9mi
a=1 #9/MINUTE -> ok: ok 7/9mi`},

		{"Stint's algorithms", `
- {key: a, value: t, rate_limit: {unit: second, requests_per_unit: 10, burst: 20, algorithm: token_bucket}}
- {key: a, value: g, rate_limit: {unit: minute, requests_per_unit: 5, algorithm: gcra}}
- {key: a, value: l, rate_limit: {unit: minute, requests_per_unit: 5, algorithm: leaky_bucket}}
- {key: a, value: f, rate_limit: {unit: minute, requests_per_unit: 5, algorithm: fixed_window}}
- {key: a, value: c, rate_limit: {unit: minute, requests_per_unit: 5, algorithm: sliding_window_counter}}
- {key: a, value: s, rate_limit: {unit: minute, requests_per_unit: 5, algorithm: sliding_window_log}}`, `
a=t +15 -> ok: ok 5/10se
a=g | a=l | a=f | a=c | a=s -> ok: ok 4/5mi | ok 4/5mi | ok 4/5mi | ok 4/5mi | ok 4/5mi`},

		{"values that are no text in YAML are texts here", `
- {key: code, value: 404, rate_limit: {unit: minute, requests_per_unit: 1}}
- {key: code, value: true, rate_limit: {unit: minute, requests_per_unit: 2}}
- {key: code, value: 1.50, rate_limit: {unit: minute, requests_per_unit: 3}}`, `
code=404 -> ok: ok 0/1mi
code=true -> ok: ok 1/2mi
code=1.50 -> ok: ok 2/3mi
code=1.5 -> ok: ok`},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := open(t, "domain: d\ndescriptors:"+row.file, setup{})
			for line := range strings.SplitSeq(strings.TrimSpace(row.calls), "\n") {
				ask, answer, _ := strings.Cut(line, " -> ")
				d.want(ask, answer)
			}
		})
	}
}

// A reload changes limits and lets counts stand.
func TestReloadKeepsCounts(t *testing.T) {
	file := func(n string) string {
		return "domain: d\ndescriptors: [{key: a, rate_limit: {unit: hour, requests_per_unit: " + n + "}}]"
	}
	d := open(t, file("3"), setup{})
	d.want("x3 a=1", "ok: ok 0/3ho")
	d.load(file("3"), descriptors.Options{})
	d.want("a=1", "over: over 0/3ho")
	d.load(file("5"), descriptors.Options{})
	d.want("a=1", "ok: ok 1/5ho")
	d.load(file("2"), descriptors.Options{})
	d.want("a=1", "over: over 0/2ho")
	d.load("domain: d\ndescriptors: [{key: b, rate_limit: {unit: hour, requests_per_unit: 1}}]", descriptors.Options{})
	d.want("a=1", "ok: ok")
	d.load(file("5"), descriptors.Options{})
	d.want("a=1", "ok: ok 0/5ho")
}
