package grpclimit

import (
	"strconv"

	"google.golang.org/grpc/metadata"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/ratefields"
)

// The metadata keys that calls get.
const (
	keyLimit     = "x-ratelimit-limit"
	keyRemaining = "x-ratelimit-remaining"
	keyReset     = "x-ratelimit-reset"
	keyPolicy    = "ratelimit-policy"
	keyRateLimit = "ratelimit"
	keyRetry     = "retry-after"
	keyPushback  = "grpc-retry-pushback-ms"

	mostKeys = 7
)

// fields collects metadata. Their text is built in one buffer and becomes one
// string. It is used again for the next call.
type fields struct {
	text []byte
	n    int
	key  [mostKeys]string
	end  [mostKeys]int
}

func (f *fields) reset() { f.text, f.n = f.text[:0], 0 }

// done ends a field whose value was appended to text.
func (f *fields) done(key string) {
	f.key[f.n], f.end[f.n] = key, len(f.text)
	f.n++
}

func (f *fields) setInt(key string, n int64) {
	f.text = strconv.AppendInt(f.text, n, 10)
	f.done(key)
}

// metadata returns the fields; nil if there are none.
func (f *fields) metadata() metadata.MD {
	if f.n == 0 {
		return nil
	}
	text, values := string(f.text), make([]string, f.n)
	md := make(metadata.MD, f.n)
	start := 0
	for i := range f.n {
		values[i] = text[start:f.end[i]]
		md[f.key[i]] = values[i : i+1 : i+1]
		start = f.end[i]
	}
	return md
}

// rateFields adds the fields that say where the client stands. Without an enforced
// policy that asked a store there are none, and those of a single policy are left to an
// interceptor outside that is at least as tight. Where this one is tighter they follow
// the outer one's, since metadata cannot be taken back.
func (l *Limit) rateFields(s *scratch, outer *visit) {
	f, d := &s.fields, &s.decision
	if l.headers == NoHeaders || !ratefields.Known(d) {
		return
	}
	if l.headers&XRateLimit != 0 && !saysTighter(outer, d) {
		f.setInt(keyLimit, d.Capacity)
		f.setInt(keyRemaining, max(0, d.Remaining))
		f.setInt(keyReset, ratefields.Seconds(d.ResetAfter))
	}
	if l.headers&IETF != 0 {
		f.text = ratefields.AppendPolicies(f.text, d)
		f.done(keyPolicy)
		f.text = ratefields.AppendStates(f.text, d)
		f.done(keyRateLimit)
	}
}

// saysTighter says whether an interceptor outside has told of limits at least as tight
// as d.
func saysTighter(outer *visit, d *stint.Decision) bool {
	return outer.Shown(func(o *stint.Decision) bool { return !ratefields.Tighter(d, o) })
}
