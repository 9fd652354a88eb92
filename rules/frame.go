package rules

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A bucket's key is its parts, one after the other. A part is a byte for its
// kind, the length of what follows as a uvarint, and that: so that no two lists
// of parts have the same bytes, and a hash or an address is never equal to a
// value that a client could send. The single part global is the empty key.
//
// A request without a part of the key has a key of one part, of a kind that no
// rule's key is made of.
const (
	partValue      = 1 + iota // a value of at most maxPlain bytes, as it came
	partHash                  // the hash of a secret or longer one
	partIPv4                  // an address: the number of its bits, its bytes as far as these go
	partIPv6                  // the same
	insteadIPv4               // the address of a request without the key
	insteadIPv6               // the same
	insteadNothing            // a request without the key whose address is not known either
	insteadShared             // any request without the key
)

// Bounds of the values that a key is made of.
const (
	// MaxValue is the longest value of a key, and the longest path, that rules
	// look at, in bytes. A request with a longer one is refused.
	MaxValue = 64 << 10
	// MaxParts is the most parts that a key can have.
	MaxParts = 8

	maxPlain = 64
)

// appendValue appends a value as it is. It is at most maxPlain bytes long.
func appendValue(key []byte, value string) []byte {
	key = append(key, partValue)
	key = binary.AppendUvarint(key, uint64(len(value)))
	return append(key, value...)
}

// appendHash appends a hashed value.
func appendHash(key []byte, sum *digest) []byte {
	key = append(key, partHash, byte(len(sum)))
	return append(key, sum[:]...)
}

// appendAddr appends the first bits of an address; kind is partIPv4 or
// insteadIPv4.
func appendAddr(key []byte, kind byte, addr netip.Prefix) []byte {
	bits := addr.Bits()
	n := (bits + 7) / 8
	if addr.Addr().Is4() {
		a := addr.Addr().As4()
		return append(append(key, kind, byte(1+n), byte(bits)), a[:n]...)
	}
	a := addr.Addr().As16()
	return append(append(key, kind+1, byte(1+n), byte(bits)), a[:n]...)
}

// KeyText returns the key of a charge as people read it, for logs and pages. It
// shows the first 8 digits of a hash and never a secret. Of a key that rules did
// not make it shows the length.
func KeyText(key []byte) string {
	if len(key) == 0 {
		return "global"
	}
	var parts []string
	for rest := key; len(rest) > 0; {
		text, after, ok := cutPart(rest)
		if !ok {
			return fmt.Sprintf("unknown key of %d bytes", len(key))
		}
		parts, rest = append(parts, text), after
	}
	return strings.Join(parts, " + ")
}

// cutPart reads the first part of a key.
func cutPart(key []byte) (text string, rest []byte, ok bool) {
	n, w := binary.Uvarint(key[1:])
	if w <= 0 || n > uint64(len(key)-1-w) {
		return "", nil, false
	}
	body, rest := key[1+w:1+w+int(n)], key[1+w+int(n):]
	switch kind := key[0]; kind {
	case partValue:
		return valueText(string(body)), rest, true
	case partHash:
		if len(body) != len(digest{}) {
			return "", nil, false
		}
		return "hash:" + hex.EncodeToString(body[:4]), rest, true
	case partIPv4, partIPv6:
		text, ok = addrText(body, kind == partIPv6)
		return text, rest, ok
	case insteadIPv4, insteadIPv6:
		text, ok = addrText(body, kind == insteadIPv6)
		return "no key, from " + text, rest, ok
	case insteadNothing:
		return "no key, from nowhere known", rest, len(body) == 0
	case insteadShared:
		return "no key", rest, len(body) == 0
	}
	return "", nil, false
}

// valueText shows a value as it is where that is unmistakable, else quoted.
func valueText(s string) string {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '+' {
			return strconv.QuoteToASCII(s)
		}
	}
	if s == "" || strings.HasPrefix(s, "hash:") {
		return strconv.Quote(s)
	}
	return s
}

// addrText reads the body of an address part.
func addrText(body []byte, six bool) (string, bool) {
	size := 4
	if six {
		size = 16
	}
	if len(body) == 0 || int(body[0]) > 8*size || len(body)-1 != (int(body[0])+7)/8 {
		return "", false
	}
	var a [16]byte
	copy(a[:], body[1:])
	addr, _ := netip.AddrFromSlice(a[:size])
	if bits := int(body[0]); bits < 8*size {
		return netip.PrefixFrom(addr, bits).String(), true
	}
	return addr.String(), true
}
