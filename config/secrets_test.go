package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// env is an environment of the test.
func env(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

func TestEnvironment(t *testing.T) {
	of := env(map[string]string{"A": "alpha", "EMPTY": "", "INJECT": "x}\nrules: []\nkey: \"${A}"})
	for _, c := range []struct{ in, out, fault string }{
		{"${A}", "alpha", ""},
		{"<${A}${A}>", "<alphaalpha>", ""},
		{"${B:-beta}", "beta", ""},
		{"${B:-}", "", ""},
		{"${A:-beta}", "alpha", ""},
		{"${EMPTY}", "", ""},
		{"${EMPTY:-e}", "e", ""},
		{"$${A}", "${A}", ""},
		{"$A $ {A} $", "$A $ {A} $", ""},
		{"${INJECT}", "x}\nrules: []\nkey: \"${A}", ""},
		{"${B}", "", "the variable B is not set"},
		{"${}", "", "not a variable's name"},
		{"${1A}", "", "not a variable's name"},
		{"${A-B}", "", "not a variable's name"},
		{"${A", "", "${ without its }"},
	} {
		out, _, fault, _ := fill(c.in, of)
		if out != c.out || fault != c.fault {
			t.Errorf("fill(%q) = %q, %q; want %q, %q", c.in, out, fault, c.out, c.fault)
		}
	}
	if _, _, fault, _ := fill("${A}", nil); fault == "" {
		t.Error("without an environment no variable is set")
	}
}

func TestEnvironmentFillsValuesOfEveryType(t *testing.T) {
	o := Options{Env: env(map[string]string{"N": "7", "W": "90s", "LIMIT": "100 per minute", "ON": "true", "R": "1.67", "KEY": "k_1"})}
	src := `keys:
  k:
    header: X-K
    secret: ${ON}
plans:
  key: k
  of:
    ${KEY}: free
rules:
  - id: a
    key: ip
    limit: ${LIMIT}
    cost: ${N}
  - id: b
    key: ip
    limit: ${N}
    window: ${W}
  - id: c
    key: ip
    capacity: ${N}
    refill_per_sec: ${R}
`
	f, err := Parse("f", []byte(src), o)
	if err != nil {
		t.Fatal(err)
	}
	r := f.Spec.Rules
	if r[0].Limits[0].String() != "100 per minute" || r[0].Cost != 7 || r[1].Limits[0].String() != "7 per 1m30s" ||
		r[2].Limits[0].String() != "167 per 1m40s, burst 7" || !f.Spec.Keys[0].Secret || f.Spec.Plans.Of["k_1"] != "free" {
		t.Errorf("%+v", f.Spec)
	}
}

func TestSecretsAreInNoError(t *testing.T) {
	const secret = "hunter2-5c1f"
	o := Options{Env: env(map[string]string{"S": secret})}
	dir := t.TempDir()
	csv := filepath.Join(dir, "keys.csv")
	if err := os.WriteFile(csv, []byte(secret+"\n"+secret+",\n"+secret+",a\n"+secret+",b\n\""+secret), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := "keys: { k: { header: X-K, secret: true } }\n"
	for _, src := range []string{
		"store: http://user:" + secret + "@host:6379\nrules: []",
		"store: redis://" + secret + "@host:6379\nrules: []",
		"store: redis://user:${S}/x@host:6379\nrules: []",
		"store: user:" + secret + "@host\nrules: []",
		"store: redis://user:" + secret + "@host: 6379\nrules: []",
		"store: [redis://user:" + secret + "@host]\nrules: []",
		"store: \"redis://user:" + secret + "@host\nrules: []",
		"store: { redis: { url: redis://" + secret + "@a } }\nrules: []",
		"store: { redis: { url: [redis://" + secret + "@a] } }\nrules: []",
		"store: { redis: { url: { a: " + secret + " } } }\nrules: []",
		"store: { redis: { url: \"${S}\" } }\nrules: []",
		"store: { redis: { url: redis://a, deadline: \"${S}\", failures: \"${S}\", prefix: \"{${S}\" } }\nrules: []",
		"store: { redis: [redis://user:" + secret + "@host] }\nrules: []",
		"store: \"${S}\"\nrules: []",
		"store: { redis: { password: " + secret + " } }\nrules: []",
		"store: { redis: redis://" + secret + "@a }\nrules: []",
		"upstream: http://user:" + secret + "@host\nrules: []",
		"upstream: \"${S}\"\nrules: []",
		"upstream: ftp://" + secret + "@host\nrules: []",
		"hash_key: { a: " + secret + " }\nrules: []",
		"hash_key: [" + secret + "]\nrules: []",
		"hash_key: \"" + secret + "\nrules: []",
		"listen: { admin: \"${S}\", gateway: \"${S}\" }\nrules: []",
		"trusted_proxies: \"${S}\"\nrules: []",
		"client_ip: { header: \"${S} x\", ipv4_prefix: \"${S}\" }\nrules: []",
		"headers: \"${S}\"\nrules: []",
		"\"${S}\": 1\nrules: []",
		keys + "plans: { key: k, of: { " + secret + ": 5 } }\nrules: []",
		keys + "plans: { key: k, of: { " + secret + ": } }\nrules: []",
		keys + "plans: { key: k, of: { " + secret + ": { a: b } } }\nrules: []",
		keys + "plans: { key: k, of: { " + secret + ": free, " + secret + ": paid } }\nrules: []",
		keys + "plans: { key: k, " + secret + ": free }\nrules: []",
		keys + "plans: { key: k, of: [" + secret + "] }\nrules: []",
		keys + "plans: { key: k, file: " + csv + " }\nrules: []",
		keys + "plans: { key: \"${S}\", of: { a: b } }\nrules: []",
		"keys: { \"${S} \": { header: \"${S} x\" } }\nrules: []",
		oneLimit("limit: \"${S}\""),
		oneLimit("limit: \"5 per ${S}\""),
		oneLimit("limits: [\"${S}\"]"),
		oneLimit("limit: 5, window: \"${S}\""),
		oneLimit("limit: 5 per minute, cost: \"${S}\", mode: \"${S}\", exempt: \"${S}\""),
		oneLimit("limit: 5 per minute, algorithm: \"${S}\""),
		"rules:\n  - { id: \"${S} x\", key: \"${S}\", limit: 5 per minute, match: { path: \"${S}\", method: \"${S} x\", host: \"${S}/\", ip: \"${S}\", has: \"${S}\" } }",
	} {
		f, err := Parse(filepath.Join(dir, "rules.yaml"), []byte(src), o)
		if err == nil {
			t.Errorf("no error for\n%s\n%+v", src, f.Spec)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the secret is in\n%v\nfor\n%s", err, src)
		}
		all, _ := errors.AsType[Errors](err)
		for _, e := range all {
			if strings.Contains(e.Text, secret) {
				t.Errorf("the secret is in the text of %v", e)
			}
		}
	}
}

func TestUnsetVariableIsNamedWithItsPlace(t *testing.T) {
	wantFault(t, "rules: []\nhash_key: ${STINT_SECRET}\n", `rules.yaml:2:11: "${STINT_SECRET}": the variable STINT_SECRET is not set: set it, or write ${NAME:-default}`)
}

func TestPlansFile(t *testing.T) {
	dir := t.TempDir()
	write := func(csv string) (*File, error) {
		if err := os.WriteFile(filepath.Join(dir, "keys.csv"), []byte(csv), 0o600); err != nil {
			t.Fatal(err)
		}
		return Parse(filepath.Join(dir, "rules.yaml"), []byte("keys: { k: { header: X-K } }\nplans:\n  key: k\n  of: { here: free }\n  file: keys.csv\nrules: []\n"), Options{})
	}
	for _, csv := range []string{"a,free\nb,paid\n", "key,plan\na,free\nb,paid", "\xef\xbb\xbfKey , Plan\r\n\r\n# note\r\n\"a\",free \r\n b,paid\r\n"} {
		f, err := write(csv)
		if err != nil {
			t.Errorf("%q: %v", csv, err)
			continue
		}
		if of := f.Spec.Plans.Of; len(of) != 3 || of["a"] != "free" || of["b"] != "paid" || of["here"] != "free" {
			t.Errorf("%q: %v", csv, of)
		}
	}
	path := filepath.Join(dir, "keys.csv")
	for csv, want := range map[string]string{
		"a,free\nb\n":       path + ":2:1: a line with 1 fields: write key,plan",
		"a,b,c\n":           path + ":1:1: a line with 3 fields: write key,plan",
		",free\n":           path + ":1:1: a line without a key: write key,plan",
		"a,\n":              path + ":1:1: a key without a plan: write key,plan",
		"a,x\nb,y\na,z\n":   path + ":3:1: this key has a plan already: leave it out here or in line 1",
		"a,x\nhere,y\n":     path + ":2:1: this key has a plan already: leave it out here or in the rules file",
		"a,x\n\"b\"c,y\n":   path + ":2:3: not CSV: extraneous or missing \" in quoted-field: write key,plan",
		"a,\xff\n":          path + ":1:1: the file is no UTF-8: save it as UTF-8",
		"a,x\nb\nc,y\n,z\n": path + ":2:1: a line with 1 fields: write key,plan\n" + path + ":4:1: a line without a key: write key,plan",
	} {
		if _, err := write(csv); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", csv, err, want)
		}
	}
}
