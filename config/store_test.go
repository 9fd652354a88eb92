package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseStore(t *testing.T) {
	for s, want := range map[string]string{
		"redis://10.0.0.1":                                   "redis at 10.0.0.1",
		"redis://user:hunter2@127.0.0.1:6379/0":              "redis at 127.0.0.1:6379",
		"rediss://:hunter2@[::1]:6379?db=1":                  "rediss at [::1]:6379",
		"valkey://a?sentinel_password=hunter2":               "valkey at a",
		"valkeys://a":                                        "valkeys at a",
		"redis+sentinel://:hunter2@a,b:26379/mymaster/0":     "redis+sentinel at a,b:26379",
		"rediss+sentinel://a/m":                              "rediss+sentinel at a",
		"REDIS+cluster://:hunter2@a:7000,b:7000":             "redis+cluster at a:7000,b:7000",
		"rediss+cluster://a":                                 "rediss+cluster at a",
		"unix:///run/redis.sock?db=1":                        "unix at /run/redis.sock",
		"unix://:hunter2@/run/redis.sock":                    "unix at /run/redis.sock",
		"redis+unix:///run/redis.sock":                       "redis+unix at /run/redis.sock",
		"unix://:hun/ter2@/run/redis.sock":                   "unix",
		"redis://:hun%2Fter2@10.0.0.1":                       "redis at 10.0.0.1",
		"redis:///0":                                         "redis",
		"redis://us@er:hunter2@10.0.0.1/0?prefix=hunter2%40": "redis at 10.0.0.1",
	} {
		got, err := ParseStore(s)
		if err != nil || got.Redis == nil || *got.Redis != (Redis{URL: s}) {
			t.Errorf("ParseStore(%q) = %v, %v", s, got, err)
			continue
		}
		if got.Redis.String() != want {
			t.Errorf("%s is shown as %q, want %q", s, got.Redis, want)
		}
	}
	if got, err := ParseStore("memory"); err != nil || got != (Store{}) {
		t.Errorf("memory: %v, %v", got, err)
	}
}

func TestParseStoreSaysWhatToWrite(t *testing.T) {
	const memoryOr = "write memory, or a URL such as redis://127.0.0.1:6379"
	for s, want := range map[string]string{
		"":                            "is empty: " + memoryOr,
		"disk":                        `"disk" is not known: ` + memoryOr,
		"redis":                       `"redis" is not known: ` + memoryOr,
		"10.0.0.1:6379":               "is no URL: " + memoryOr,
		"user:hunter2@10.0.0.1":       "is no URL: " + memoryOr,
		"http://user:hunter2@a":       "has an unknown scheme: write redis, rediss, unix, redis+sentinel or redis+cluster before ://",
		"rediss+unix:///hunter2":      "has an unknown scheme: write redis, rediss, unix, redis+sentinel or redis+cluster before ://",
		"redis://":                    "has no host: write one such as redis://127.0.0.1:6379",
		"redis://:hunter2@a\n":        "has a space or a control character: " + storeURLHint,
		"redis://:hunter2 @a":         "has a space or a control character: " + storeURLHint,
		"redis://hunter2@a":           "has a user without a password: write a password alone like redis://:password@host:6379",
		"redis://hunter2:@a":          "has a user without a password: write a password alone like redis://:password@host:6379",
		"redis://:hun/ter2@a":         "has an @ behind the host: write what is special in a password percent-encoded, / as %2F, ? as %3F and @ as %40",
		"redis://:hun?ter2@a":         "has an @ behind the host: write what is special in a password percent-encoded, / as %2F, ? as %3F and @ as %40",
		"redis://a?password=hunter@2": "has an @ behind the host: write what is special in a password percent-encoded, / as %2F, ? as %3F and @ as %40",
	} {
		if got, err := ParseStore(s); err == nil || err.Error() != want || got != (Store{}) {
			t.Errorf("ParseStore(%q) = %v\n got %v\nwant %s", s, got, err, want)
		}
	}
}

func TestStoreOfAFile(t *testing.T) {
	f, err := Load("testdata/good/redis.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := Redis{
		URL: "redis+cluster://10.0.0.1:7000,10.0.0.2:7000", Prefix: "api:",
		Deadline: 10 * time.Millisecond, Probe: 2 * time.Second, Failures: 3, Fleet: Fleet{Servers: 3}, Shield: 500 * time.Millisecond,
	}
	if f.Store.MaxBuckets != 1000 || f.Store.Redis == nil || *f.Store.Redis != want {
		t.Errorf("got %+v of %q", f.Store, f.Store.Redis.URL)
	}
	off := parseGood(t, "store: { redis: { url: redis://a, shield: off } }\nrules: []")
	if *off.Store.Redis != (Redis{URL: "redis://a", NoShield: true}) {
		t.Errorf("a shield that is off: %#v", *off.Store.Redis)
	}
	const url = "redis://:hunter2@10.0.0.1:6379/0"
	o := Options{Env: env(map[string]string{"REDIS_URL": url})}
	for _, store := range []string{url, "${REDIS_URL}", "{ redis: { url: " + url + " } }", `{ redis: { url: "${REDIS_URL}" } }`, "\n  redis:\n    url: ${REDIS_URL}"} {
		f, err := Parse("f", []byte("store: "+store+"\nrules: []"), o)
		if err != nil || f.Store.Redis == nil || *f.Store.Redis != (Redis{URL: url}) {
			t.Errorf("%s: %v", store, err)
		}
	}
	for _, store := range []string{"memory", "{ memory: {} }", "{ memory: }", "{}", "${STORE:-memory}"} {
		if f := parseGood(t, "store: "+store+"\nrules: []"); f.Store != (Store{}) {
			t.Errorf("%s: %v", store, f.Store)
		}
	}
}

func TestCheckedURL(t *testing.T) {
	var asked []Store
	o := func(answer error) Options {
		asked = nil
		return Options{CheckStore: func(s Store) error { asked = append(asked, s); return answer }}
	}
	const url = "redis://:hunter2@10.0.0.1/x"
	written := "store:\n  redis:\n    url: " + url + "\n    fleet: 3\nrules: []"
	if f, err := Parse("f", []byte(written), o(nil)); err != nil || len(asked) != 1 || asked[0].Redis.URL != url || asked[0].Redis.Fleet.Servers != 3 || f.Store != asked[0] {
		t.Errorf("asked about %v, %v", asked, err)
	}
	for _, c := range []struct{ src, fault, want string }{
		{written, `database "x" of the store URL is not a number`, `f:3:10: store.redis.url: database "x" of the store URL is not a number`},
		{"store: " + url + "\nrules: []", "a: write b", "f:1:8: store: a: write b"},
		{"store: " + url + "\nrules: []", "one: write b\ntwo", "f:1:8: store: one: write b\nf:1:8: store: two"},
		{"store: " + url + "\nrules: []", "what is hunter2?", "f:1:8: store is no URL of a store: " + storeURLHint},
		{"store: redis://:hun%74er2@a\nrules: []", "what is hunter2?", "f:1:8: store is no URL of a store: " + storeURLHint},
		{"store: redis://a?sentinel_password=a&hunter2\nrules: []", `no parameter "hunter2"`, "f:1:8: store is no URL of a store: " + storeURLHint},
	} {
		if _, err := Parse("f", []byte(c.src), o(errors.New(c.fault))); err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.src, err, c.want)
		}
	}
	for _, store := range []string{"memory", "disk", "redis://hunter2@a", "{ redis: { url: redis://hunter2@a } }", "{ redis: { fleet: 3 } }", "{ memory: {} }"} {
		_, _ = Parse("f", []byte("store: "+store+"\nrules: []"), o(errors.New("asked")))
		if len(asked) > 0 {
			t.Errorf("%s is checked", store)
		}
	}
}

func TestPasswordOfAStoreIsPrintedNowhere(t *testing.T) {
	f := parseGood(t, "store: { redis: { url: redis://user:hunter2@10.0.0.1:6379/0, fleet: 3 } }\nrules: []")
	var out bytes.Buffer
	for _, format := range []string{"%v\n", "%+v\n", "%#v\n", "%s\n", "%q\n"} {
		fmt.Fprintf(&out, format, f.Store)
		fmt.Fprintf(&out, format, &f.Store)
		fmt.Fprintf(&out, format, f.Store.Redis)
		fmt.Fprintf(&out, format, *f.Store.Redis)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("start", "store", f.Store, "at", &f.Store, "redis", f.Store.Redis, "value", *f.Store.Redis)
	}
	if err := json.NewEncoder(&out).Encode(f.Store); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "hunter2") || strings.Contains(s, "user") || strings.Count(s, "redis at 10.0.0.1:6379") < 20 {
		t.Error(s)
	}
}

func TestHiddenStoreFromTheEnvironment(t *testing.T) {
	o := Options{Env: env(map[string]string{"S": "hunter2"})}
	_, err := Parse("f", []byte("hash_key: &a \"${S}\"\nstore: *a\nrules: []"), o)
	const want = "f:1:14: store is not known once the environment is filled in: " + storeHint
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestChangedStore(t *testing.T) {
	of := func(store string) *File { return parseGood(t, "store: "+store+"\nrules: []") }
	const a = "{ redis: { url: redis://a } }"
	for _, c := range []struct {
		old, now string
		changed  bool
	}{
		{a, a, false},
		{a, "redis://a", false},
		{"memory", "memory", false},
		{"memory", "redis://a", true},
		{"redis://a", "memory", true},
		{"redis://:x@a", "redis://:y@a", true},
		{a, "{ redis: { url: redis://a, deadline: 6ms } }", true},
		{a, "{ redis: { url: redis://a, fleet: 2 } }", true},
		{a, "{ redis: { url: redis://a, fleet: { at_least: 2 } } }", true},
		{a, "{ redis: { url: redis://a }, memory: { max_buckets: 5 } }", true},
	} {
		if got := of(c.now).Changed(of(c.old)); slices.Contains(got, "store") != c.changed || len(got) > 1 {
			t.Errorf("from %s to %s: changed %v", c.old, c.now, got)
		}
	}
}

func FuzzParseStore(f *testing.F) {
	for _, s := range []string{"memory", "disk", "redis://u:p@h:1/0?a=b", "unix://:p@/s", "redis://:p/@h", "redis+sentinel://a,b/m", "://", "redis://h/@?@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		store, err := ParseStore(s)
		if err != nil {
			if store != (Store{}) || strings.ContainsAny(s, "@:") && strings.Contains(err.Error(), `"`) {
				t.Errorf("%q: %v and %v", s, store, err)
			}
			return
		}
		if store.Redis == nil {
			return
		}
		scheme, place, _ := strings.Cut(store.Redis.String(), " at ")
		if !isStoreScheme(scheme) || strings.Contains(place, "@") || !strings.Contains(s[strings.LastIndex(s, "@")+1:], place) {
			t.Errorf("%q is shown as %q", s, store.Redis)
		}
	})
}
