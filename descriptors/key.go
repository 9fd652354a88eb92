package descriptors

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/stint-dev/stint"
)

// A bucket's key is the values that are a part of it, in the order of the entries,
// and then the identity of the rule. Each is framed: a byte for its kind, its length
// as a uvarint, its bytes. The last part says which rule, and so how many parts are
// values, so that no two buckets share a key. A value's first part comes first, so
// that a Redis Cluster keeps what one client is charged together.
const (
	partValue = 1 // a value of at most maxPlain bytes, as it came
	partHash  = 2 // the hash of a longer one, or the identity of a rule
)

const (
	maxPlain = 64
	maxKey   = 1024 // a key longer than this is hashed
	shards   = 128  // names of counters for each algorithm
)

// identity names a rule: the hash of the domain and of the way to it.
type identity [16]byte

// identify returns the identity of the rule at the end of a way.
func identify(domain string, way []step) identity {
	b := appendFramed(nil, domain)
	for _, s := range way {
		b = append(appendFramed(append(b, byte(s.kind)), s.key), 0)
		b = appendFramed(b, s.value)
	}
	sum := sha256.Sum256(b)
	return identity(sum[:])
}

func appendFramed(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// counterName is the name of the counters of a rule. A store keeps a table for each
// name, and a table for each rule would be too much where there are thousands: the
// rules share some tables. A name holds the algorithm, which those of one table
// have in common, and changes with no reload that leaves it as it is.
func (id identity) counterName(a stint.Algorithm) string {
	return fmt.Sprintf("envoy/%s/%02x", a.Name(), id[0]%shards)
}

// overrideName is counterName for limits that requests bring. Their windows are apart
// where they can be: a table that has seen too many limits gives some of them up for
// others of the same window.
func (id identity) overrideName(a stint.Algorithm) string {
	return fmt.Sprintf("envoy/%s/override/%02x", a.Name(), id[0]%shards)
}

// hasher hashes what is too long for a key.
type hasher struct {
	salt []byte
}

// appendValue appends a part for a value.
func (h *hasher) appendValue(key []byte, value string) []byte {
	if len(value) > maxPlain {
		n := len(key)
		key = append(append(key, h.salt...), value...)
		sum := sha256.Sum256(key[n:])
		return appendHash(key[:n], sum[:16])
	}
	return appendFramed(append(key, partValue), value)
}

func appendHash(key, sum []byte) []byte {
	return append(append(key, partHash, byte(len(sum))), sum...)
}

// finish ends a key that begins at from with the identity of its rule.
func (h *hasher) finish(key []byte, from int, id *identity) []byte {
	if len(key)-from > maxKey {
		sum := sha256.Sum256(key[from:])
		key = appendHash(key[:from], sum[:16])
	}
	return appendHash(key, id[:])
}
