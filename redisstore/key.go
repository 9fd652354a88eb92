package redisstore

import (
	"encoding/binary"
)

// A bucket's key is
//
//	prefix { tag } n name rest
//
// where name is the policy's and n its length in a byte. tag and rest are the key
// of the charge, cut behind its first part: what Redis Cluster places keys by is
// the tag, so that the buckets of one client live together whatever the policies.
//
// A tag ends at the first closing brace, so in a tag that is written %], and a
// percent sign %%. The key of no bytes has the tag %.
const (
	tagOpen   = '{'
	tagClose  = '}'
	tagEscape = '%'
	tagHidden = ']'
)

// maxKind is the largest byte that begins a part of a key that rules have framed:
// the kind of the part, the length of what follows as a uvarint, and that.
const maxKind = 8

// firstPart returns the length of the first part of a key. A key that is not
// framed is one part.
func firstPart(key []byte) int {
	if len(key) < 2 || key[0] == 0 || key[0] > maxKind {
		return len(key)
	}
	n, w := binary.Uvarint(key[1:])
	if w <= 0 || n > uint64(len(key)-1-w) {
		return len(key)
	}
	return 1 + w + int(n)
}

// appendKey appends the key of a bucket.
func appendKey(dst []byte, prefix, name string, key []byte) []byte {
	dst = append(dst, prefix...)
	dst = append(dst, tagOpen)
	n := firstPart(key)
	for _, c := range key[:n] {
		switch c {
		case tagClose:
			dst = append(dst, tagEscape, tagHidden)
		case tagEscape:
			dst = append(dst, tagEscape, tagEscape)
		default:
			dst = append(dst, c)
		}
	}
	if n == 0 {
		dst = append(dst, tagEscape)
	}
	dst = append(dst, tagClose, byte(len(name)))
	dst = append(dst, name...)
	return append(dst, key[n:]...)
}

// slots is how many parts Redis Cluster places keys in.
const slots = 1 << 14

// slotOf returns the slot of a bucket's key: that of its tag.
func slotOf(key []byte, prefix string) uint16 {
	tag := key[len(prefix)+1:]
	n := 0
	for tag[n] != tagClose {
		n++
	}
	crc := uint16(0)
	for _, c := range tag[:n] {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % slots
}
