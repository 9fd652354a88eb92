package rules

import "strings"

// index finds the rules that can match a request, by the literal segments that its path
// begins with and by its host. It finds rules that do not match too, and misses none that
// does. What it finds is looked at as without it, in the order of the rules.
type index struct {
	paths map[string][]int32 // by the head of a pattern
	hosts map[string][]int32 // by the name; one with a dot before it is for all below
	rest  []int32            // rules that say nothing of either

	longestPath, longestHost int // bytes of the names
}

// minIndexed is how many rules are worth an index. Fewer are looked at sooner than found.
const minIndexed = 32

// newIndex files rules under their paths or under their hosts, wherever fewer others are.
// It is nil for few rules.
func newIndex(rules []rule) *index {
	if len(rules) < minIndexed {
		return nil
	}
	heads, names := make(map[string]int), make(map[string]int)
	for i := range rules {
		m := &rules[i].match
		for j := range m.paths {
			heads[m.paths[j].head]++
		}
		for _, h := range m.hosts {
			names[h.name]++
		}
	}
	x := &index{paths: make(map[string][]int32), hosts: make(map[string][]int32)}
	for i := range rules {
		x.file(int32(i), &rules[i].match, heads, names)
	}
	return x
}

// file adds a rule. The counts say how many patterns have a head, and hosts a name.
func (x *index) file(i int32, m *match, heads, names map[string]int) {
	others, along := 0, 0
	for j := range m.paths {
		others += heads[m.paths[j].head]
	}
	for _, h := range m.hosts {
		along += names[h.name]
	}
	switch {
	case len(m.paths) > 0 && (len(m.hosts) == 0 || others <= along):
		for j := range m.paths {
			x.longestPath = max(x.longestPath, len(m.paths[j].head))
			appendRule(x.paths, m.paths[j].head, i)
		}
	case len(m.hosts) > 0:
		for _, h := range m.hosts {
			x.longestHost = max(x.longestHost, len(h.name))
			appendRule(x.hosts, h.name, i)
		}
	default:
		x.rest = append(x.rest, i)
	}
}

func appendRule(to map[string][]int32, name string, i int32) {
	if list := to[name]; len(list) == 0 || list[len(list)-1] != i {
		to[name] = append(list, i)
	}
}

// find puts the lists of rules that can match the request into e.lists. It reports false
// if all have to be looked at.
func (x *index) find(e *Evaluation) bool {
	e.lists = append(e.lists[:0], x.rest)
	if len(x.paths) > 0 {
		path, ok := e.value(pathField)
		if len(path) > MaxValue {
			return false // Rules refuse it.
		}
		if ok {
			e.findPath(x, path)
		}
	}
	if len(x.hosts) > 0 {
		if name, ok := e.value(hostField); ok {
			e.findHost(x, name)
		}
	}
	return true
}

// findPath looks up all that the path begins with.
func (e *Evaluation) findPath(x *index, path string) {
	if path == "/" {
		path = ""
	}
	for i := range min(len(path), x.longestPath+1) {
		if path[i] == '/' {
			e.list(x.paths[path[:i]])
		}
	}
	if len(path) <= x.longestPath {
		e.list(x.paths[path])
	}
}

// findHost looks up the name, and all that it is below of.
func (e *Evaluation) findHost(x *index, name string) {
	for {
		if len(name) <= x.longestHost {
			e.list(x.hosts[name])
		}
		i := strings.IndexByte(name[min(1, len(name)):], '.')
		if i < 0 {
			return
		}
		name = name[1+i:]
	}
}

// list adds a list of rules.
func (e *Evaluation) list(rules []int32) {
	if len(rules) > 0 {
		e.lists = append(e.lists, rules)
	}
}

// next takes the first rule from the lists, -1 if there is no more.
func (e *Evaluation) next() int {
	first := int32(-1)
	for _, list := range e.lists {
		if len(list) > 0 && (first < 0 || list[0] < first) {
			first = list[0]
		}
	}
	if first < 0 {
		return -1
	}
	for i, list := range e.lists {
		if len(list) > 0 && list[0] == first {
			e.lists[i] = list[1:]
		}
	}
	return int(first)
}
