package config

import (
	"cmp"

	"github.com/stint-dev/stint/internal/yamlfile"
)

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
	if n.Kind != yamlfile.Mapping {
		d.wrongKind(n, t.name, cmp.Or(t.hint, "write a mapping"))
		return
	}
	m.n = n
	seen := make(map[string]*node, len(n.Fields))
	for _, f := range n.Fields {
		if f.Key.Faulty {
			continue
		}
		if first := seen[f.Key.Value]; first != nil {
			d.twice(f.Key, first, t)
			continue
		}
		seen[f.Key.Value] = f.Key
		e := entry[T]{key: f.Key}
		inner := t
		if t.secret != "names" {
			inner.name = t.name + "." + yamlfile.Cut(f.Key.Raw)
		}
		d.read(f.Value, P(&e.value), inner)
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
	if n.Kind != yamlfile.List {
		d.wrongKind(n, t.name, cmp.Or(t.hint, "write a list"))
		return
	}
	m.n, m.v = n, make([]T, len(n.Items))
	for i, item := range n.Items {
		d.read(item, P(&m.v[i]), t)
	}
}
