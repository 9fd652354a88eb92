package rules

import (
	"crypto/sha256"
	"encoding"
	"hash"
)

// defaultHashKey keys the hash where the file gives none. It keeps a value out
// of a store's listing, not from someone who guesses values.
const defaultHashKey = "stint: the default hash key"

// digest is the keyed hash of a value: 128 bits, so that no two values of a
// fleet's lifetime share one.
type digest [16]byte

// hashKey is the state of SHA-256 after a block of 64 bytes: the hash key, padded
// with zeros, or hashed first if it is longer.
type hashKey []byte

// resumable is SHA-256, whose state can be taken out and put back.
type resumable interface {
	hash.Hash
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// newHashKey prepares a key. An empty one is the default.
func newHashKey(key []byte) (hashKey, error) {
	var block [sha256.BlockSize]byte
	switch {
	case len(key) == 0:
		copy(block[:], defaultHashKey)
	case len(key) > len(block):
		sum := sha256.Sum256(key)
		copy(block[:], sum[:])
	default:
		copy(block[:], key)
	}
	h := newHasher()
	if _, err := h.state.Write(block[:]); err != nil {
		return nil, err
	}
	return h.state.MarshalBinary()
}

// hasher hashes values: SHA-256 over the key's block and the value, of which the
// first 16 bytes count. It allocates only when it is new.
type hasher struct {
	state resumable
	chunk [256]byte
	sum   [sha256.Size]byte
}

func newHasher() *hasher {
	state, _ := sha256.New().(resumable)
	return &hasher{state: state}
}

// hash returns the digest of value. Putting a state back and writing to it can not
// fail: the state was taken out of the same hash.
func (h *hasher) hash(key hashKey, value string) (d digest) {
	_ = h.state.UnmarshalBinary(key)
	for value != "" {
		n := copy(h.chunk[:], value)
		_, _ = h.state.Write(h.chunk[:n])
		value = value[n:]
	}
	copy(d[:], h.state.Sum(h.sum[:0]))
	return d
}
