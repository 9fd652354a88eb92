package redisstore

import (
	"strings"
	"testing"
	"time"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]Options{
		"redis://":                         {Addrs: []string{"127.0.0.1:6379"}},
		"redis://h":                        {Addrs: []string{"h:6379"}},
		"valkey://h:1/3":                   {Addrs: []string{"h:1"}, DB: 3},
		"redis://h?db=4":                   {Addrs: []string{"h:6379"}, DB: 4},
		"redis://[::1]:7":                  {Addrs: []string{"[::1]:7"}},
		"redis://[::1]":                    {Addrs: []string{"[::1]:6379"}},
		"redis://u:p%40%3A@h":              {Addrs: []string{"h:6379"}, Username: "u", Password: "p@:"},
		"redis://:p@h":                     {Addrs: []string{"h:6379"}, Password: "p"},
		"unix:///run/r.sock?db=2":          {Addrs: []string{"/run/r.sock"}, DB: 2},
		"redis+sentinel://a,b:9/set/1":     {Addrs: []string{"a:26379", "b:9"}, MasterSet: "set", DB: 1},
		"redis+sentinel://a":               {Addrs: []string{"a:26379"}, MasterSet: "mymaster"},
		"redis+cluster://a:1,b:2?addr=c:3": {Addrs: []string{"a:1", "b:2", "c:3"}, Cluster: true},
		"redis://h?prefix=x%3A&client_name=n&dial_timeout=1s&read_timeout=20ms&max_batch=7&max_in_flight=2&max_waiting=9": {
			Addrs: []string{"h:6379"}, Prefix: "x:", ClientName: "n", DialTimeout: time.Second,
			ReadTimeout: 20 * time.Millisecond, MaxBatch: 7, MaxInFlight: 2, MaxWaiting: 9,
		},
	} {
		got, err := ParseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if strings.Join(got.Addrs, " ") != strings.Join(want.Addrs, " ") {
			t.Errorf("%s: addresses %v, want %v", text, got.Addrs, want.Addrs)
		}
		got.Addrs, want.Addrs = nil, nil
		if !same(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// same compares options without addresses and TLS.
func same(a, b Options) bool {
	return a.Username == b.Username && a.Password == b.Password && a.DB == b.DB && a.MasterSet == b.MasterSet &&
		a.Cluster == b.Cluster && a.Prefix == b.Prefix && a.ClientName == b.ClientName && a.DialTimeout == b.DialTimeout &&
		a.ReadTimeout == b.ReadTimeout && a.MaxBatch == b.MaxBatch && a.MaxInFlight == b.MaxInFlight && a.MaxWaiting == b.MaxWaiting
}

func TestParseURLOfTLS(t *testing.T) {
	o, err := ParseURL("rediss://h:1?skip_verify=true")
	if err != nil || o.TLS == nil || o.TLS.ServerName != "h" || !o.TLS.InsecureSkipVerify {
		t.Errorf("%+v, %v", o.TLS, err)
	}
}

// TestErrorsOfURLs say what to write instead.
func TestErrorsOfURLs(t *testing.T) {
	for text, want := range map[string]string{
		"hunter2":                            "no scheme",
		"http://:hunter2@h":                  "unknown scheme",
		"redis+hunter2://h":                  "unknown scheme",
		"redis://u:%hunter2@h":               "percent-encoded",
		"redis://:hunter2@h/x":               "database",
		"redis://:hunter2@h/1/2":             "too many parts",
		"redis://:hunter2@h?db=-1":           "database",
		"redis://:hunter2@h?colour=1":        "it takes db, addr,",
		"redis://:hunter2@h?read_timeout=":   "read_timeout",
		"redis://:hunter2@h?max_batch=many":  "max_batch",
		"redis://:hunter2@h?skip_verify=1":   "rediss only",
		"rediss://:hunter2@h?skip_verify=no": "true or false",
		"redis://:hunter2@h?%zz":             "encoded",
		"redis://u@h":                        "no password",
		"unix://:hunter2@h":                  "no socket",
		"redis+cluster://:hunter2@h/1":       "cluster",
		"redis://:hunter2@h?prefix=%7Bx":     "brace",
		"redis://:hunter2@h?max_batch=-1":    "max batch",
		"redis://:hun/ter2@h":                "an @ behind the host",
		"redis://:hun?ter2@h":                "percent-encoded",
		"redis://u:hunter2":                  "host:port",
	} {
		_, err := ParseURL(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want one that says %q and no secret", text, err, want)
		}
	}
}

// TestErrorsOfURLsShowNoSecret: neither does an error about a password that is
// written wrongly, nor one about anything else, wherever it is in the URL.
func TestErrorsOfURLsShowNoSecret(t *testing.T) {
	broken := 0
	for _, scheme := range []string{"redis", "rediss", "unix", "redis+sentinel", "rediss+cluster", "redis+hunter2", "http"} {
		for _, secret := range []string{"hunter2", "pa/hunter2", "hunter2/pa", "a/b/hunter2", "hunter2?x", "x?hunter2", "x&hunter2", "hunter2%", "%hunter2", "hunter2#", "hunter2@hunter2", "1/hunter2", "[hunter2", "hunter2:hunter2", "{hunter2"} {
			for _, rest := range []string{
				"%s@h", ":%s@h", "u:%s@h:6379/0", ":%s@h/x", ":%s", "u:%s/1", "%s", "h/%s", "h/1/%s", "h:%s", "h:%s/1", "[%s]:x", "h:1,h:%s",
				"h?%s", "h?%s=1", "h?db=%s", "h?addr=%s", "h?addr=h:%s", "h?cluster=%s", "h?prefix={%s", "h?dial_timeout=%s",
				"h?read_timeout=%s", "h?max_batch=%s", "h?max_in_flight=%s", "h?max_waiting=%s", "h?skip_verify=%s",
				"h?sentinel_username=%s&db=x", "h?sentinel_password=%s&db=x", "h?sentinel_password=a&%s", "h?sentinel_password=a&db=%s",
				"h?master_set=%s&cluster=1", "h?server_name=%s&db=x", "h?client_name=%s&db=x",
			} {
				text := scheme + "://" + strings.ReplaceAll(rest, "%s", secret)
				_, err := ParseURL(text)
				if err == nil {
					continue
				}
				broken++
				if strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
	if broken < 500 {
		t.Errorf("only %d of these are wrong", broken)
	}
}

// TestErrorsOfOptionsShowNoSecret: somebody may write a URL where an address is
// wanted, or a password in the place of a user.
func TestErrorsOfOptionsShowNoSecret(t *testing.T) {
	for _, o := range []Options{
		{Addrs: []string{"redis://:hunter2@h:6379"}},
		{Addrs: []string{"h:1", ":hunter2@h"}},
		{Addrs: []string{"h:hunter2"}},
		{Username: "hunter2"},
		{Prefix: "{hunter2"},
		{Cluster: true, MasterSet: "hunter2"},
	} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("redis://user:password@host:6379/0?read_timeout=1s")
	f.Add("rediss+sentinel://a,b:1/set/1?skip_verify=1")
	f.Add("unix:///s")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseURL(text)
		if err != nil {
			return
		}
		if _, err := New(o); err != nil {
			t.Errorf("%q: read, but no store: %v", text, err)
		}
	})
}
