package config

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/yamlfile"
)

// size is a number of bytes above 0, with its unit, such as 512MiB.
type size struct {
	n *node
	v int64
}

const sizeHint = "write a size such as 512MiB or 2GiB"

// sizeUnits are the units of sizes, from small to large.
func sizeUnits() []sizeUnit {
	return []sizeUnit{
		{"kB", 1e3},
		{"KiB", 1 << 10},
		{"MB", 1e6},
		{"MiB", 1 << 20},
		{"GB", 1e9},
		{"GiB", 1 << 30},
		{"TB", 1e12},
		{"TiB", 1 << 40},
	}
}

type sizeUnit struct {
	name  string
	bytes int64
}

func (s *size) set(d *decoder, n *node, t tag) {
	if !n.IsScalar() || n.Kind == yamlfile.Null || n.Kind == yamlfile.Boolean {
		d.wrongKind(n, t.name, sizeHint)
		return
	}
	v, ok := parseSize(n.Value)
	switch {
	case !ok && isDigits(n.Value):
		d.fault(n, t.name+n.Shown()+" has no unit", hintOfSize(n))
	case !ok:
		d.fault(n, t.name+n.Shown()+" is not a size", hintOfSize(n))
	case v == 0:
		d.fault(n, t.name+n.Shown()+" is nothing", sizeHint)
	case v > stint.MaxUnits:
		d.fault(n, t.name+n.Shown()+" is too large", "at most 4096TiB")
	default:
		s.n, s.v = n, v
	}
}

// parseSize reads a whole number and a unit. What is above stint.MaxUnits is one more
// than that.
func parseSize(s string) (bytes int64, ok bool) {
	digits, unit := cutNumber(s)
	for _, u := range sizeUnits() {
		if unit != u.name || strings.Trim(digits, "_") == "" {
			continue
		}
		n, err := strconv.ParseUint(strings.ReplaceAll(digits, "_", ""), 10, 64)
		high, low := bits.Mul64(n, uint64(u.bytes))
		if err != nil || high > 0 || low > uint64(stint.MaxUnits) {
			return stint.MaxUnits + 1, true
		}
		return int64(low), true
	}
	return 0, false
}

// cutNumber cuts s behind its digits.
func cutNumber(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789_")
	return s[:len(s)-len(rest)], rest
}

// hintOfSize says what to write instead of n: a number without a unit, or a unit that
// is written in another way, is told as it is to be written.
func hintOfSize(n *node) string {
	if n.Hidden || n.Filled || len(n.Value) > yamlfile.MaxShown {
		return sizeHint
	}
	digits, unit := cutNumber(strings.ReplaceAll(n.Value, " ", ""))
	plain, err := strconv.ParseInt(strings.ReplaceAll(digits, "_", ""), 10, 64)
	if err != nil {
		return sizeHint
	}
	hint := sizeHint
	for _, u := range sizeUnits() {
		switch short := u.name[:len(u.name)-1]; {
		case unit == "" && plain > 0 && plain%u.bytes == 0:
			hint = fmt.Sprintf("write %d%s", plain/u.bytes, u.name)
		case strings.EqualFold(unit, u.name), strings.EqualFold(unit, short):
			return "write " + digits + u.name
		}
	}
	return hint
}
