package rules

import (
	"fmt"
	"maps"
	"slices"
)

// Bounds of a file.
const (
	// MaxRules is the most rules that one set can have.
	MaxRules = 50_000

	maxID = 64 // bytes of a rule's id, or of a name of a key or a path parameter
)

// Compile checks spec and makes a set of it. The error holds the faults that stop
// the rules from working, as [Errors]. The set keeps nothing that a later change
// of spec would reach, but for the elements of its slices, which must not change.
func Compile(spec Spec) (*Set, error) {
	c := newCompiler(spec)
	c.run()
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	c.set.warnings, c.set.moreWarnings = c.warnings, c.more
	return c.set, nil
}

// compiler makes a set of a spec.
type compiler struct {
	faults
	spec Spec
	set  *Set

	keyAt          map[string]int // places in the set's keys, by name
	planAt         map[string]int // numbers of plans, by name
	nothingWritten *written
}

func newCompiler(spec Spec) *compiler {
	return &compiler{
		spec: spec, keyAt: make(map[string]int), planAt: make(map[string]int), nothingWritten: new(written),
		set: &Set{
			fields:   newFields(),
			spelling: spelling{fold: spec.IgnoreCase, strict: spec.StrictSlash},
			planKey:  -1,
		},
	}
}

// run checks everything, whatever is wrong before.
func (c *compiler) run() {
	c.keys()
	c.plans()
	c.hashKey()
	c.planHashes()
	c.set.ipv4Prefix = c.prefixLength("client_ip.ipv4_prefix", c.spec.IPv4Prefix, 32, 32)
	c.set.ipv6Prefix = c.prefixLength("client_ip.ipv6_prefix", c.spec.IPv6Prefix, 128, 64)
	if n := len(c.spec.Rules); n > MaxRules {
		c.fault("rules", "%d rules: at most %d", n, MaxRules)
		return
	}
	c.ids()
	c.set.byID = make(map[string]int, len(c.spec.Rules))
	c.set.rules = make([]rule, 0, len(c.spec.Rules))
	for i := range c.spec.Rules {
		c.set.byID[c.spec.Rules[i].ID] = i
		c.set.rules = append(c.set.rules, c.rule(i))
	}
	if len(c.errs) == 0 {
		c.set.index = newIndex(c.set.rules)
		newTraps(c).find()
	}
}

// prefixLength checks how many bits of an address count.
func (c *compiler) prefixLength(path string, bits, most, usual int) int {
	switch {
	case bits == 0:
		return usual
	case bits < 0 || bits > most:
		c.fault(path, "%d bits: from 1 to %d, %d if it is left out", bits, most, usual)
		return usual
	}
	return bits
}

// hashKey checks the key of the hash.
func (c *compiler) hashKey() {
	var err error
	if c.set.hashKey, err = newHashKey(c.spec.HashKey); err != nil {
		c.fault("hash_key", "%v", err)
	}
	const short = 16
	switch n := len(c.spec.HashKey); {
	case n == 0 && slices.ContainsFunc(c.set.keys, func(k key) bool { return k.secret }):
		c.warn("hash_key", "secret keys are hashed with the default hash key, which is no secret: "+
			"give all servers the same hash_key of at least %d characters", short)
	case n > 0 && n < short:
		c.warn("hash_key", "a hash key of %d characters can be guessed: write at least %d", n, short)
	}
}

// plans checks the plans and numbers them.
func (c *compiler) plans() {
	c.set.planNames = []string{""}
	p := c.spec.Plans
	if p == nil {
		return
	}
	if p.Key == "" {
		c.fault("plans.key", "plans need a key: name the one whose values are listed, such as api_key")
	} else if at, ok := c.keyNamed("plans.key", p.Key); ok {
		if c.set.keys[at].kind != fieldKey {
			c.fault("plans.key", "%s can not tell plans: use a key that is found in a header, query, cookie or body", p.Key)
		} else {
			c.set.planKey = at
		}
	}
	if len(p.Of) == 0 {
		c.warn("plans.of", "no value has a plan: every request counts as one without %s", p.Key)
	}
	c.numberPlans(p)
}

// numberPlans gives each plan a number, in the order of the names.
func (c *compiler) numberPlans(p *Plans) {
	for value, plan := range p.Of {
		switch {
		case value == "":
			c.fault("plans.of", "an empty value has plan %s: an empty value counts as none", quote(plan))
		case len(value) > MaxValue:
			c.fault("plans.of", "a value of %d bytes has plan %s: at most %d", len(value), quote(plan), MaxValue)
		case plan == "":
			c.fault("plans.of."+value, "the plan is empty: write its name, or leave the value out")
		default:
			c.planAt[plan] = 0
		}
	}
	for i, name := range slices.Sorted(maps.Keys(c.planAt)) {
		c.planAt[name] = i + 1
		c.set.planNames = append(c.set.planNames, name)
	}
	c.set.planOf = make(map[string]subscriber, len(p.Of))
	for value, plan := range p.Of {
		if n := c.planAt[plan]; n > 0 {
			c.set.planOf[value] = subscriber{plan: n}
			c.set.longestPlanned = max(c.set.longestPlanned, len(value))
		}
	}
}

// planHashes hashes the values that have a plan, so that no request has to.
func (c *compiler) planHashes() {
	if c.set.planKey < 0 || c.set.hashKey == nil {
		return
	}
	h := newHasher()
	for value, s := range c.set.planOf {
		if c.set.keys[c.set.planKey].hashes(value) {
			s.sum = h.hash(c.set.hashKey, value)
			c.set.planOf[value] = s
		}
	}
}

// planNumber returns the number of the plan called name. It is 0, and a warning,
// if nobody has that plan.
func (c *compiler) planNumber(path, name string) int {
	if c.spec.Plans == nil {
		c.fault(path, "nothing says who has plan %s: add plans with their key", quote(name))
		return 0
	}
	n := c.planAt[name]
	if n == 0 {
		c.warn(path, "no key has plan %s: %s", quote(name), c.didYouMean(name, c.set.planNames[1:]))
	}
	return n
}

// ids checks that each rule has a name of its own.
func (c *compiler) ids() {
	first := make(map[string]int)
	for i := range c.spec.Rules {
		id, path := c.spec.Rules[i].ID, indexed("rules", i)+".id"
		switch at, twice := first[id]; {
		case id == "":
			c.fault(path, "a rule needs an id: it is the name of its counters, such as per-key")
		case !isID(id):
			c.fault(path, "id %s: at most %d of the characters A-Z, a-z, 0-9, dot, underscore and hyphen", quote(id), maxID)
		case twice:
			c.fault(path, "id %s is that of rules[%d] too: their counters would be one", quote(id), at)
		default:
			first[id] = i
		}
	}
}

// isID says whether s can name a rule.
func isID(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !alnum && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= maxID
}

// indexed is the path of the i-th element of a list.
func indexed(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
