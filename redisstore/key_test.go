package redisstore

import (
	"bytes"
	"strings"
	"testing"
)

// tagOf is what Redis Cluster would hash of a key.
func tagOf(key string) string {
	_, rest, ok := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !ok || !closed || tag == "" {
		return key
	}
	return tag
}

// framed is a key of two parts as rules make it.
func framed(first, second string) []byte {
	b := append([]byte{1, byte(len(first))}, first...)
	return append(append(b, 1, byte(len(second))), second...)
}

func TestC052ClientsDoNotMoveTags(t *testing.T) {
	long := strings.Repeat("x", 300)
	seen := make(map[string]string)
	for _, client := range []string{"u1", "a}b{c", "{}", "{x}", "", "%", "%%", "%]", "}", "{", "a%", "a", long} {
		var tags []string
		for _, key := range [][]byte{[]byte(client), framed(client, "}{"), framed(client, "/path")} {
			a := string(appendKey(nil, "p:", "one", key))
			b := string(appendKey(nil, "p:", "two }{", key))
			if tagOf(a) != tagOf(b) || slotOf([]byte(a), "p:") != slotOf([]byte(b), "p:") {
				t.Errorf("client %q: keys %q and %q are apart", client, a, b)
			}
			if a == b {
				t.Errorf("client %q: two policies have the key %q", client, a)
			}
			tags = append(tags, tagOf(a))
			for _, k := range []string{a, b} {
				if other, ok := seen[k]; ok {
					t.Errorf("clients %q and %q have the key %q", client, other, k)
				}
				seen[k] = client
			}
		}
		if len(client) < 128 && tags[1] != tags[2] {
			t.Errorf("client %q: keys with one first part have tags %q and %q", client, tags[1], tags[2])
		}
	}
}

// TestSlots: those that CLUSTER KEYSLOT gives.
func TestSlots(t *testing.T) {
	for key, want := range map[string]uint16{"{123456789}": 12739, "{user1000}.following": 3443, "{foo}": 12182} {
		if got := slotOf([]byte(key), ""); got != want {
			t.Errorf("slot of %q: %d, want %d", key, got, want)
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add([]byte("a"), []byte("b"), "name", "other")
	f.Add([]byte("\x01\x01}\x01\x01a"), []byte("\x01\x01}"), "n", "n")
	f.Add([]byte("%"), []byte{}, "n", "n")
	f.Fuzz(func(t *testing.T, a, b []byte, n, m string) {
		if len(n) > 128 || len(m) > 128 {
			return
		}
		ka, kb := appendKey(nil, "p:", n, a), appendKey(nil, "p:", m, b)
		if same := bytes.Equal(a, b) && n == m; bytes.Equal(ka, kb) != same {
			t.Fatalf("%q of %q and %q of %q have the keys %q and %q", a, n, b, m, ka, kb)
		}
		first, tag := firstPart(a), tagOf(string(ka))
		if firstPart(b) == first && bytes.Equal(a[:first], b[:first]) && tagOf(string(kb)) != tag {
			t.Fatalf("%q and %q have the tags of %q and %q", a, b, ka, kb)
		}
	})
}
