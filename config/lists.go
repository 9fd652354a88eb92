package config

import "cmp"

// entry is one name of a mapping whose names are free, and what is under it.
type entry[T any] struct {
	key   *node
	value T
}

// names is a mapping whose names are free.
type names[T any, P interface {
	*T
	value
}] struct {
	n *node
	v []entry[T]
}

func (m *names[T, P]) set(d *decoder, n *node, t tag) {
	if n.kind != mapping {
		d.wrongKind(n, t.name, cmp.Or(t.hint, "write a mapping"))
		return
	}
	m.n = n
	seen := make(map[string]*node, len(n.fields))
	for _, f := range n.fields {
		if f.key.faulty {
			continue
		}
		if first := seen[f.key.value]; first != nil {
			d.twice(f.key, first, t)
			continue
		}
		seen[f.key.value] = f.key
		e := entry[T]{key: f.key}
		inner := t
		if t.secret != "names" {
			inner.name = t.name + "." + cut(f.key.raw)
		}
		d.read(f.value, P(&e.value), inner)
		m.v = append(m.v, e)
	}
}

// many is a list.
type many[T any, P interface {
	*T
	value
}] struct {
	n *node
	v []T
}

func (m *many[T, P]) set(d *decoder, n *node, t tag) {
	if n.kind != list {
		d.wrongKind(n, t.name, cmp.Or(t.hint, "write a list"))
		return
	}
	m.n, m.v = n, make([]T, len(n.items))
	for i, item := range n.items {
		d.read(item, P(&m.v[i]), t)
	}
}
