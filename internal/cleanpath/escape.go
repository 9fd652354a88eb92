package cleanpath

// appendSegment appends seg to dst with its escapes in their one spelling.
//
// A stray percent sign is kept as it is. Behind one, an escaped hex digit stays
// escaped: decoded, it could complete an escape that was not there, as in
// %%36%31, and cleaning twice would not be cleaning once.
func appendSegment(dst []byte, seg string) []byte {
	open := 0 // How many more hex digits would complete an escape.
	for i := 0; i < len(seg); i++ {
		c := seg[i]
		if c != '%' || !isEscape(seg[i:]) {
			dst = append(dst, c)
			open = openAfter(open, c)
			continue
		}
		v := decode(seg[i:])
		if isUnreserved(v) && (open <= 0 || !isHex(v)) {
			dst = append(dst, v)
		} else {
			dst = append(dst, '%', upper(seg[i+1]), upper(seg[i+2]))
		}
		open = 0
		i += 2
	}
	return dst
}

// openAfter returns how many hex digits behind the literal c would complete an
// escape, where open of them would have before it.
func openAfter(open int, c byte) int {
	switch {
	case c == '%':
		return 2
	case open > 0 && isHex(c):
		return open - 1
	default:
		return 0
	}
}

// isEscape reports whether s, which begins with a percent sign, begins with a
// whole escape.
func isEscape(s string) bool {
	return len(s) >= 3 && isHex(s[1]) && isHex(s[2])
}

// decode returns the byte that the escape at the start of s stands for.
func decode(s string) byte { return unhex(s[1])<<4 | unhex(s[2]) }

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' || 'a' <= c && c <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func upper(c byte) byte {
	if isLower(c) {
		return c &^ 0x20
	}
	return c
}

// isUnreserved reports whether c means the same escaped and as it is (RFC 3986,
// section 2.3).
func isUnreserved(c byte) bool {
	switch c {
	case '-', '.', '_', '~':
		return true
	}
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
