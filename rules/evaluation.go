package rules

import (
	"net/netip"
	"strings"

	"github.com/stint-dev/stint"
)

// outcome is what a rule says to a request.
type outcome uint8

const (
	charged outcome = iota // its charges are there
	exempted

	// The rule refuses without a charge.
	keyRefused
	valueTooLong
	pathTooLong
	tooManyCharges

	// The rule does not apply.
	otherMethod
	otherHost
	otherAddress
	otherPath
	otherValue
	otherPlan
	hasNot
	lacksNot
	noLimitForPlan
	keySkipped
)

// refuses says whether o is a refusal.
func (o outcome) refuses() bool { return o >= keyRefused && o <= tooManyCharges }

// Evaluation is the charges of one request. It is made by [Set.Evaluate], used by
// one goroutine and valid until Release.
type Evaluation struct {
	set     *Set
	src     stint.Source
	n       int // charges
	charges [stint.MaxCharges]stint.Charge
	keys    []byte // what the charges' keys are in

	refusing *rule
	refusal  outcome

	slots    []slot // one for each field of the set
	touched  []int  // those that were read
	addr     netip.Addr
	addrRead bool
	plan     int // its number, 0 for none
	planRead bool
	hasher   *hasher

	lists [][]int32 // of rules that can match, where there is an index

	captures     [maxCaptures]string
	captureNames []string
}

// slot is a field of the request, read at most once.
type slot struct {
	value  string
	sum    digest
	read   bool
	there  bool
	hashed bool
}

// Charges are what the request has to be charged, in the order of the rules. They
// and their keys belong to the evaluation. There are none if it is refused.
func (e *Evaluation) Charges() []stint.Charge { return e.charges[:e.n] }

// Refused says whether a rule refuses the request without asking a store, because
// a key is missing or a part of the request is too large, and which.
func (e *Evaluation) Refused() (reason stint.Reason, by stint.Result, refused bool) {
	ru := e.refusing
	if ru == nil {
		return "", stint.Result{}, false
	}
	by = stint.Result{Policy: ru.id, Cost: ru.cost, Verdict: stint.Verdict{RetryAfter: stint.Never}}
	if len(ru.policies) > 0 {
		by.Limit, by.Capacity = ru.policies[0].Limit, ru.policies[0].Capacity()
	}
	if e.refusal == keyRefused {
		return stint.ReasonMissingKey, by, true
	}
	return stint.ReasonTooLarge, by, true
}

// Release ends the use of e.
func (e *Evaluation) Release() {
	clear(e.charges[:e.n])
	for _, i := range e.touched {
		e.slots[i] = slot{}
	}
	clear(e.captures[:])
	clear(e.lists)
	e.src, e.n, e.keys, e.touched = nil, 0, e.keys[:0], e.touched[:0]
	e.refusing, e.captureNames = nil, nil
	e.addr, e.addrRead, e.plan, e.planRead = netip.Addr{}, false, 0, false
	e.set.pool.Put(e)
}

// run puts the charges of all rules together.
func (e *Evaluation) run() {
	if x := e.set.index; x != nil && x.find(e) {
		for i := e.next(); i >= 0 && !e.step(&e.set.rules[i]); i = e.next() {
		}
		return
	}
	for i := range e.set.rules {
		if e.step(&e.set.rules[i]) {
			return
		}
	}
}

// step adds what one rule says, and reports whether it is the last one.
func (e *Evaluation) step(ru *rule) bool {
	o := e.apply(ru)
	if o.refuses() && !ru.shadow {
		e.refusing, e.refusal = ru, o
		clear(e.charges[:e.n])
		e.n = 0
	}
	return ru.ends(o)
}

// ends says whether no later rule is looked at after o.
func (ru *rule) ends(o outcome) bool {
	return !ru.shadow && (o == exempted || o.refuses() || ru.stop && o == charged)
}

// apply adds the charges of one rule.
func (e *Evaluation) apply(ru *rule) outcome {
	if o := e.matches(&ru.match); o != charged {
		return o
	}
	if ru.exempt {
		return exempted
	}
	policies := ru.policies
	if ru.plans != nil {
		if policies = ru.plans.of(e.planNumber()); policies == nil {
			return noLimitForPlan
		}
	}
	if !e.room(ru, len(policies)) {
		return tooManyCharges
	}
	key, o := e.key(ru)
	if o != charged {
		return o
	}
	for _, p := range policies {
		e.charges[e.n] = stint.Charge{Policy: p, Key: key, Ask: stint.Ask{Cost: ru.cost}, Shadow: ru.shadow}
		e.n++
	}
	return charged
}

// room makes room for n charges: those of shadow rules make way for others.
func (e *Evaluation) room(ru *rule, n int) bool {
	for over := e.n + n - len(e.charges); over > 0; over-- {
		i := e.n - 1
		for i >= 0 && !e.charges[i].Shadow {
			i--
		}
		if i < 0 || ru.shadow {
			return false
		}
		copy(e.charges[i:], e.charges[i+1:e.n])
		e.n--
		e.charges[e.n] = stint.Charge{}
	}
	return true
}

// key frames the rule's key.
func (e *Evaluation) key(ru *rule) ([]byte, outcome) {
	start := len(e.keys)
	for _, k := range ru.key {
		switch e.appendPart(k) {
		case partMissing:
			e.keys = e.keys[:start]
			return e.keyInstead(ru.missing)
		case partTooLong:
			return nil, valueTooLong
		}
	}
	return e.keys[start:len(e.keys):len(e.keys)], charged
}

// keyInstead is the key of a request without the rule's key.
func (e *Evaluation) keyInstead(missing Missing) ([]byte, outcome) {
	start := len(e.keys)
	switch missing {
	case MissingSkip:
		return nil, keySkipped
	case MissingDeny:
		return nil, keyRefused
	case MissingShare:
		e.keys = append(e.keys, insteadShared, 0)
	default:
		if a, ok := e.bucket(); ok {
			e.keys = appendAddr(e.keys, insteadIPv4, a)
		} else {
			e.keys = append(e.keys, insteadNothing, 0)
		}
	}
	return e.keys[start:len(e.keys):len(e.keys)], charged
}

type partState uint8

const (
	partThere partState = iota
	partMissing
	partTooLong
)

// appendPart appends one part of a key.
func (e *Evaluation) appendPart(k int) partState {
	key := &e.set.keys[k]
	if key.kind == addrKey {
		a, ok := e.bucket()
		if !ok {
			return partMissing
		}
		e.keys = appendAddr(e.keys, partIPv4, a)
		return partThere
	}
	v, ok := e.keyValue(k)
	switch {
	case !ok:
		return partMissing
	case len(v) > MaxValue:
		return partTooLong
	case !key.hashes(v):
		e.keys = appendValue(e.keys, v)
	case key.kind == paramKey:
		sum := e.hasher.hash(e.set.hashKey, v)
		e.keys = appendHash(e.keys, &sum)
	default:
		s := &e.slots[key.field]
		if !s.hashed {
			s.sum, s.hashed = e.hasher.hash(e.set.hashKey, v), true
		}
		e.keys = appendHash(e.keys, &s.sum)
	}
	return partThere
}

// present says whether the request has the key.
func (e *Evaluation) present(k int) bool {
	if e.set.keys[k].kind == addrKey {
		return e.address().IsValid()
	}
	_, ok := e.keyValue(k)
	return ok
}

// keyValue returns the value of a field or parameter. It is not empty, and if it
// is the key of plans one of those that have a plan.
func (e *Evaluation) keyValue(k int) (string, bool) {
	key := &e.set.keys[k]
	if key.kind == paramKey {
		for i, name := range e.captureNames {
			if name == key.param {
				return e.captures[i], true
			}
		}
		return "", false
	}
	v, ok := e.value(key.field)
	if k == e.set.planKey && e.planNumber() == 0 {
		return "", false
	}
	return v, ok && v != ""
}

// planNumber returns the number of the request's plan, 0 if it has none.
func (e *Evaluation) planNumber() int {
	if e.planRead || e.set.planKey < 0 {
		return e.plan
	}
	e.planRead = true
	key := &e.set.keys[e.set.planKey]
	v, ok := e.value(key.field)
	if !ok || len(v) > e.set.longestPlanned {
		return 0
	}
	if s, ok := e.set.planOf[v]; ok {
		e.plan = s.plan
		if key.hashes(v) {
			e.slots[key.field].sum, e.slots[key.field].hashed = s.sum, true
		}
	}
	return e.plan
}

// value returns a field of the request in the spelling that rules compare.
func (e *Evaluation) value(field int) (string, bool) {
	s := &e.slots[field]
	if !s.read {
		e.read(field, s)
	}
	return s.value, s.there
}

func (e *Evaluation) read(field int, s *slot) {
	e.touched = append(e.touched, field)
	s.read = true
	if s.value, s.there = e.src.Value(e.set.fields.all[field]); s.there {
		s.value = e.set.spell(field, s.value)
	}
}

// spell is the one spelling of a field's value.
func (s *Set) spell(field int, value string) string {
	switch field {
	case methodField:
		return strings.ToUpper(value)
	case pathField:
		if len(value) <= MaxValue {
			return s.spelling.clean(value)
		}
	case hostField:
		return lower(strings.TrimSuffix(value, "."))
	}
	return value
}

// address returns the client's address, the zero Addr if there is none.
func (e *Evaluation) address() netip.Addr {
	if !e.addrRead {
		e.addr, e.addrRead = e.src.Addr().Unmap().WithZone(""), true
	}
	return e.addr
}

// bucket returns the addresses that count as one client.
func (e *Evaluation) bucket() (netip.Prefix, bool) {
	a := e.address()
	if !a.IsValid() {
		return netip.Prefix{}, false
	}
	bits := e.set.ipv6Prefix
	if a.Is4() {
		bits = e.set.ipv4Prefix
	}
	p, err := a.Prefix(bits)
	return p, err == nil
}
