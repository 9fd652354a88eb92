package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/yamlfile"
	"github.com/stint-dev/stint/rules"
)

// word is a text.
type word struct {
	n *node
	v string
}

func (w *word) set(d *decoder, n *node, t tag) {
	if n.Kind != yamlfile.Text {
		hint := "write text"
		if len(t.words) > 0 {
			hint = "write " + yamlfile.OneOf(t.words)
		} else if n.Kind == yamlfile.Number || n.Kind == yamlfile.Boolean {
			hint = "write it in quotes"
		}
		d.wrongKind(n, t.name, hint)
		return
	}
	if len(t.words) > 0 && !slices.Contains(t.words, n.Value) {
		d.fault(n, fmt.Sprintf("%s%s is not known", t.name, n.Shown()), rules.DidYouMean(n.Value, t.words))
		return
	}
	w.n, w.v = n, n.Value
}

// words are texts: one, or a list of them.
type words struct {
	n *node
	v []word
}

func (w *words) set(d *decoder, n *node, t tag) {
	w.n = n
	items := []*node{n}
	if n.Kind == yamlfile.List {
		items = n.Items
	}
	for _, item := range items {
		var one word
		if d.read(item, &one, t); one.n != nil {
			w.v = append(w.v, one)
		}
	}
}

// texts returns the values.
func (w *words) texts() []string {
	var all []string
	for _, one := range w.v {
		all = append(all, one.v)
	}
	return all
}

// whole is a whole number, 0 or more.
type whole struct {
	n *node
	v int64
}

func (w *whole) set(d *decoder, n *node, t tag) {
	v, ok := d.wholeNumber(n, t.name)
	if ok {
		w.n, w.v = n, v
	}
}

// wholeNumber reads a number from 0 to stint.MaxUnits.
func (d *decoder) wholeNumber(n *node, name string) (int64, bool) {
	if !isNumeric(n) {
		d.wrongKind(n, name, "write a whole number without quotes")
		return 0, false
	}
	digits := strings.ReplaceAll(n.Value, "_", "")
	negative := strings.HasPrefix(digits, "-")
	v, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		d.fault(n, name+n.Shown()+" is not a whole number", "write digits only, such as 100 or 1_000")
	case negative && v != 0:
		d.fault(n, name+n.Shown()+" is negative", notNegative(name))
	case v > stint.MaxUnits:
		d.fault(n, name+n.Shown()+" is too large", fmt.Sprintf("at most %d", stint.MaxUnits))
	default:
		return v, true
	}
	return 0, false
}

func notNegative(name string) string {
	if name == "limit" {
		return "write 0 to refuse everything"
	}
	return "write 1 or more"
}

// isNumeric says whether n is to be read as a number: it is one, or is written
// without quotes and looks like one, perhaps once the environment has filled it
// in.
func isNumeric(n *node) bool {
	return n.Kind == yamlfile.Number || n.Kind == yamlfile.Text && n.Plain && n.Filled && looksNumeric(n.Value)
}

// looksNumeric says whether s is written as numbers are.
func looksNumeric(s string) bool {
	digits := strings.TrimLeft(s, "+-")
	return digits != "" && len(s)-len(digits) < 2 && strings.Trim(digits, "0123456789eE+-._") == "" &&
		'0' <= digits[0] && digits[0] <= '9' && strings.Count(digits, ".") < 2 && strings.Count(strings.ToLower(digits), "e") < 2 &&
		!strings.Contains(strings.ReplaceAll(strings.ToLower(digits), "e-", "e"), "-")
}

// toggle is true or false.
type toggle struct {
	n *node
	v bool
}

func (f *toggle) set(d *decoder, n *node, t tag) {
	v := n.Value
	if n.Kind == yamlfile.Boolean {
		v = strings.ToLower(v)
	}
	if n.Kind != yamlfile.Boolean && (n.Kind != yamlfile.Text || !n.Plain || !n.Filled) || v != "true" && v != "false" {
		d.wrongKind(n, t.name, "write true or false")
		return
	}
	f.n, f.v = n, v == "true"
}

// span is a duration above 0, a whole number of microseconds.
type span struct {
	n *node
	v time.Duration
}

func (s *span) set(d *decoder, n *node, t tag) {
	if !n.IsScalar() || n.Kind == yamlfile.Null || n.Kind == yamlfile.Boolean {
		d.wrongKind(n, t.name, "write a duration such as 10s or 1m30s")
		return
	}
	v, err := time.ParseDuration(n.Value)
	switch {
	case isDigits(n.Value):
		d.fault(n, fmt.Sprintf("%s%s has no unit", t.name, n.Shown()), "write "+orShown(n, n.Value+"s", "10s"))
	case err != nil:
		d.fault(n, fmt.Sprintf("%s%s is not a duration", t.name, n.Shown()), durationHint(n))
	case v <= 0:
		d.fault(n, fmt.Sprintf("%s%s is not longer than 0", t.name, n.Shown()), "write a duration such as 10s or 1m30s")
	case v%time.Microsecond != 0:
		d.fault(n, fmt.Sprintf("%s%s is not a whole number of microseconds", t.name, n.Shown()), "write it in us or longer units")
	default:
		s.n, s.v = n, v
	}
}

// isDigits says whether s is a number without a unit.
func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789._-+") == "" && strings.ContainsAny(s, "0123456789")
}

// orShown returns s, or instead where s would show what n hides.
func orShown(n *node, s, instead string) string {
	if n.Hidden || n.Filled {
		return instead
	}
	return s
}

// durationHint says what to write instead of n: units of limits and capitals are
// understood, to be told what they are in a duration.
func durationHint(n *node) string {
	const hint = "write a duration such as 10s or 1m30s"
	if n.Hidden || n.Filled || len(n.Value) > yamlfile.MaxShown {
		return hint
	}
	plain := strings.ToLower(strings.ReplaceAll(n.Value, " ", ""))
	if v, err := stint.ParseWindow(plain); err == nil {
		return "write " + durationText(v)
	}
	return hint
}

// durationText is the shortest way to write d.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// decimal is a number above 0 with up to nine digits behind the point, kept
// exactly.
type decimal struct {
	n           *node
	units, over int64 // units / over, over a power of ten
}

var errDecimal = errors.New("not a number")

func (c *decimal) set(d *decoder, n *node, t tag) {
	if !isNumeric(n) {
		d.wrongKind(n, t.name, "write a number such as 1.67")
		return
	}
	units, over, err := parseDecimal(n.Value)
	switch {
	case err != nil:
		d.fault(n, fmt.Sprintf("%s%s is not a number", t.name, n.Shown()), "write digits, and up to nine of them behind a point, such as 1.67")
	case units < 0:
		d.fault(n, fmt.Sprintf("%s%s is negative", t.name, n.Shown()), "write a number above 0")
	case units == 0:
		d.fault(n, fmt.Sprintf("%s%s never fills the bucket again", t.name, n.Shown()), "write a number above 0, or limit: 0 per minute to refuse everything")
	case units > stint.MaxUnits:
		d.fault(n, fmt.Sprintf("%s%s is too large or too precise", t.name, n.Shown()), fmt.Sprintf("at most %d with the point left out", stint.MaxUnits))
	default:
		c.n, c.units, c.over = n, units, over
	}
}

// parseDecimal reads 1.67 as 167 / 100.
func parseDecimal(s string) (units, over int64, err error) {
	before, behind, point := strings.Cut(s, ".")
	if point && before+behind == "" || len(behind) > 9 || strings.ContainsAny(behind, "+-_") {
		return 0, 0, errDecimal
	}
	units, err = strconv.ParseInt(before+behind, 10, 64)
	if err != nil {
		return 0, 0, errDecimal
	}
	over = 1
	for range behind {
		over *= 10
	}
	return units, over, nil
}

// later is a field that this version does not know what to do with.
type later struct{}

func (*later) set(d *decoder, n *node, t tag) {
	n.Hide()
	d.fault(n, t.name+" comes in a later version", cmp.Or(t.hint, "leave it out"))
}
