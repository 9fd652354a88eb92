package config

import (
	"path/filepath"
	"regexp"

	"github.com/stint-dev/stint/rules"
)

// builder makes a File of what was written.
type builder struct {
	*decoder
	disk   *disk
	root   *node
	file   *File
	places map[string]*node // of the Spec, by the paths of rules.Error

	rulePath   *regexp.Regexp // finds how package rules names a rule
	checkStore func(Store) error
}

func newBuilder(d *decoder, root *node, o Options) *builder {
	return &builder{
		decoder: d, root: root, file: &File{Path: d.File}, places: make(map[string]*node),
		rulePath: regexp.MustCompile(`rules\[\d+\]`), checkStore: o.CheckStore,
	}
}

// put remembers where something of the Spec was written.
func (b *builder) put(path string, n *node) {
	if n != nil {
		b.places[path] = n
	}
}

// build reads all settings, and the rules last.
func (b *builder) build(s *shape) {
	b.upstream(s)
	b.listen(&s.Listen)
	b.addresses(s)
	b.headers(&s.Headers)
	b.store(&s.Store, b.checkStore)
	b.file.DenyStatus = 429
	if n := s.DenyStatus.n; n != nil {
		if v := s.DenyStatus.v; v < 400 || v > 599 {
			b.fault(n, "deny_status"+n.Shown()+" is no status of a refusal", "write 429, 503 or another from 400 to 599")
		}
		b.file.DenyStatus = int(min(s.DenyStatus.v, 599))
	}
	b.hashKey(&s.HashKey)
	b.envoy(&s.Envoy)
	b.file.Spec.IgnoreCase, b.file.Spec.StrictSlash = s.Paths.IgnoreCase.v, s.Paths.StrictSlash.v
	b.keys(&s.Keys)
	b.plans(&s.Plans)
	b.rules(&s.Rules)
}

// keys reads the names of keys.
func (b *builder) keys(ks *names[key, *key]) {
	for _, e := range ks.v {
		k := &e.value
		path := "keys." + e.key.Value
		b.put(path, e.key)
		for name, w := range map[string]*word{"header": &k.Header, "query": &k.Query, "cookie": &k.Cookie, "param": &k.Param, "json": &k.JSON, "descriptor": &k.Descriptor} {
			b.put(path+"."+name, w.n)
		}
		if k.n == nil || anyFaulty(k.n, make(map[*node]bool)) {
			// It is told what is wrong with it; rules that name it are not wrong too.
			k.Header, k.Query, k.Cookie, k.Param, k.JSON, k.Descriptor = word{v: "X-Unknown"}, word{}, word{}, word{}, word{}, word{}
			e.key.Faulty = true
		}
		b.file.Spec.Keys = append(b.file.Spec.Keys, rules.Key{
			Name: e.key.Value, Header: k.Header.v, Query: k.Query.v, Cookie: k.Cookie.v, Param: k.Param.v, JSON: k.JSON.v,
			Descriptor: k.Descriptor.v, Secret: k.Secret.v,
		})
	}
}

// plans reads who is on which plan.
func (b *builder) plans(p *plans) {
	if p.n == nil {
		if b.root.Find("plans") != nil {
			b.file.Spec.Plans = new(rules.Plans) // Rules that name a plan are not wrong too.
		}
		return
	}
	key := p.Key.v
	if p.Key.n == nil && !anyFaulty(p.n, make(map[*node]bool)) {
		b.fault(p.n, "plans has no key", "write key: and the name of the key whose values have plans")
	}
	b.put("plans", p.n)
	b.put("plans.key", p.Key.n)
	b.put("plans.of", firstOf(p.Of.n, p.File.n))
	of := make(map[string]string, len(p.Of.v))
	for _, e := range p.Of.v {
		if e.key.Value == "" || e.value.v == "" {
			if !anyFaulty(e.value.n, make(map[*node]bool)) && e.value.n != nil {
				b.fault(firstOf(e.value.n, e.key), "plans.of has an empty key or plan", "write key: plan")
			}
			continue
		}
		b.put("plans.of."+e.key.Value, e.value.n)
		of[e.key.Value] = e.value.v
	}
	if p.File.n != nil {
		b.csv(p.File, of)
	}
	b.file.Spec.Plans = &rules.Plans{Key: key, Of: of}
}

// beside returns a path, which is relative to the file.
func (b *builder) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(b.file.Path), path)
}

// csv adds the keys of a CSV file to of.
func (b *builder) csv(w word, of map[string]string) {
	path := b.beside(w.v)
	data, message, hint := b.disk.read(path, maxCSVBytes)
	if message != "" {
		b.fault(w.n, "plans.file"+w.n.Shown()+": "+message, hint)
		return
	}
	before := len(b.List)
	t := &table{faults: b.faults, file: path, of: of, lines: make(map[string]int), plans: make(map[string]string)}
	if w.n.Filled {
		t.file = filepath.Join(filepath.Dir(b.file.Path), w.n.Raw)
	}
	t.read(data)
	if len(b.List) > before {
		w.n.Faulty = true
	}
}
