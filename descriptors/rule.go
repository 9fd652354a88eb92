package descriptors

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stint-dev/stint"
)

// Rule is the limit at one node of a tree. It is read only.
type Rule struct {
	// Name says where the rule stands: the domain and the way through the tree, such
	// as edge/database=users/path="/api/*". No two rules of a set share one. It is at
	// most [stint.MaxName] bytes long and holds nothing that a client has sent, so
	// that it can label metrics.
	Name string
	// Label is the name in the file, for replaces; empty if there is none.
	Label string
	// Policy counts. Its own name is that of the counters, which many rules share:
	// their keys hold what the rule is. The Algorithm of an unlimited rule is nil.
	Policy *stint.Policy
	// Replaces are the labels of rules that do not apply to a request to which this
	// one does.
	Replaces []string
	// Shadow rules count and never refuse.
	Shadow bool
	// Quota rules refuse a request only if all of them that apply to it are over.
	Quota bool
	// Metadata is passed on with answers that this rule had a say in. It holds maps,
	// lists, strings, float64s, booleans and nils.
	Metadata map[string]any
	// DetailedMetric and ValueToMetric are what the file says. Metrics are by rule
	// all the same: a value from a client is no label.
	DetailedMetric, ValueToMetric bool
	// Index is the rule's place in [Set.Rules]; -1 for the limit of a request.
	Index int

	id identity
}

// Unlimited says that the rule never refuses and counts in no store.
func (r *Rule) Unlimited() bool { return r.Policy.Algorithm == nil }

// Sentence says what the rule admits.
func (r *Rule) Sentence() string {
	if r.Unlimited() {
		return "no limit"
	}
	sentence, _ := r.Policy.Algorithm.Explain(r.Policy.Limit)
	switch {
	case r.Shadow:
		sentence += "; only tried, refuses nothing"
	case r.Quota:
		sentence += "; refuses if all quotas of a request are over"
	}
	return sentence
}

// step is one node on the way to a rule.
type step struct {
	key, value string
	kind       stepKind
}

// stepKind says how a node matches.
type stepKind byte

const (
	exactStep stepKind = 'e' // the value as it is
	wildStep  stepKind = 'w' // a value with wildcards
	anyStep   stepKind = 'a' // any value

	overrideStep stepKind = 'o' // no node: the window of a limit in a request
)

// ruleName writes a way through the tree. What could be taken for another way is in
// quotes, and what is too long for a label ends in a hash.
func ruleName(domain string, way []step, id identity) string {
	var b strings.Builder
	b.WriteString(namePart(domain))
	for _, s := range way {
		b.WriteByte('/')
		b.WriteString(namePart(s.key))
		if s.kind != anyStep {
			b.WriteByte('=')
			b.WriteString(namePart(s.value))
		}
	}
	name := b.String()
	if len(name) <= stint.MaxName {
		return name
	}
	tail := fmt.Sprintf("~%x", id[:8])
	return strings.ToValidUTF8(name[:stint.MaxName-len(tail)], "") + tail
}

// namePart quotes s unless it has nothing but letters, digits and a few signs.
func namePart(s string) string {
	for i := range len(s) {
		c := s[i]
		if ('0' > c || c > '9') && ('A' > c || c > 'Z') && ('a' > c || c > 'z') && strings.IndexByte("_.*:@+-", c) < 0 {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
