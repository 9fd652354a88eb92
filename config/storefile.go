package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// store is where counts are kept, as it is written.
type store struct {
	n *node
	storeFields
	url *node // of Redis, where it is good
}

// storeFields are the fields of store.
type storeFields struct {
	Memory memory `yaml:"memory" doc:"In this process. Beside redis, it counts while Redis fails."`
	Redis  redis  `yaml:"redis" doc:"In Redis or Valkey."`
}

// memory is the fields of a store in memory.
type memory struct {
	n *node
	memoryFields
}

// memoryFields are the fields of memory.
type memoryFields struct {
	MaxBuckets whole `yaml:"max_buckets" range:"1" doc:"How many buckets are kept at most. Left out, it is 10000000."`
	MaxMemory  size  `yaml:"max_memory" doc:"How much memory the buckets take at most, their logs included: 512MiB, 2GiB. Left out, it is half of what the process may use. Whichever bound is met first counts."`
	WhenFull   word  `yaml:"when_full" enum:"evict refuse" doc:"evict makes room by dropping what is nearest its reset, refuse refuses new keys. Left out, it is evict."`
}

func (m *memory) set(d *decoder, n *node, t tag) {
	if n.Kind == yamlfile.Null {
		m.n = n
		return
	}
	if !d.fields(n, &m.memoryFields, t) {
		return
	}
	m.n = n
	if b := m.MaxBuckets.n; b != nil && m.MaxBuckets.v == 0 {
		d.fault(b, t.name+".max_buckets 0 would count nothing", "write at least 1, or leave it out for 10000000")
	}
	if b := m.MaxMemory.n; b != nil && m.MaxMemory.v < minMemory {
		d.fault(b, t.name+".max_memory"+b.Shown()+" is too little", "write at least 1MiB")
	}
}

// minMemory is the least memory that a store can be given, in bytes.
const minMemory = 1 << 20

// redis is the fields of a store in Redis.
type redis struct {
	n *node
	redisFields
}

// redisFields are the fields of redis.
type redisFields struct {
	URL      storeURL  `yaml:"url" secret:"value" doc:"Where it is: redis://user:password@host:6379/0, with rediss for TLS, unix:///path for a socket, redis+sentinel://host1,host2/master or redis+cluster://host1,host2."`
	Prefix   word      `yaml:"prefix" doc:"What every key begins with. Left out, it is stint:."`
	Deadline span      `yaml:"deadline" doc:"The longest that a decision waits for Redis. Left out, it is 5ms."`
	Failures whole     `yaml:"failures" range:"1 1000000" doc:"Failures in a row after which Redis is left alone. Left out, it is 5."`
	Probe    span      `yaml:"probe" doc:"How long it is left alone before one decision tries it again. Left out, it is 1s."`
	Shield   spanOrOff `yaml:"shield" doc:"The longest that a refusal which is known is repeated without asking Redis, or off. So long can a reset that another server makes go unseen. Left out, it is 1s."`
	Fleet    fleet     `yaml:"fleet" doc:"How many servers share the limits: each allows its part while Redis fails. Left out or a mapping, they count themselves by a heartbeat in Redis."`
}

// Bounds of what is written about Redis.
const (
	maxStorePrefix = 64 // bytes
	maxCount       = 1_000_000
	maxShield      = time.Hour
)

func (r *redis) set(d *decoder, n *node, t tag) {
	if n.IsScalar() {
		n.Hide() // It may be a URL.
		d.wrongKind(n, t.name, "write a mapping such as { url: redis://127.0.0.1:6379 }")
		return
	}
	if !d.fields(n, &r.redisFields, t) {
		return
	}
	r.n = n
	if n.Find("url") == nil && !misspelt(n) {
		d.fault(n, t.name+" has no url", "write one such as url: redis://127.0.0.1:6379")
	}
	d.counted(&r.Failures, t.name+".failures", "would never ask Redis", "for 5")
	r.prefix(d, t.name+".prefix")
}

// spanOrOff is a duration, or the word off.
type spanOrOff struct {
	span
	off bool
}

func (s *spanOrOff) set(d *decoder, n *node, t tag) {
	if n.Kind == yamlfile.Text && n.Value == "off" {
		s.n, s.off = n, true
		return
	}
	if s.span.set(d, n, t); s.v > maxShield {
		d.fault(n, t.name+n.Shown()+" is too long", "at most 1h, or off")
		s.v = 0
	}
}

// counted reports a number that is not from 1 to maxCount, and puts 0 in its place.
// zero says what is wrong with 0, instead what a number left out means.
func (d *decoder) counted(w *whole, name, zero, instead string) {
	switch {
	case w.n == nil:
		return
	case w.v == 0:
		d.fault(w.n, name+w.n.Shown()+" "+zero, "write at least 1, or leave it out "+instead)
	case w.v > maxCount:
		d.fault(w.n, name+w.n.Shown()+" is too large", fmt.Sprintf("at most %d", maxCount))
	default:
		return
	}
	w.v = 0
}

// prefix checks what keys begin with.
func (r *redis) prefix(d *decoder, name string) {
	n := r.Prefix.n
	switch {
	case n == nil:
		return
	case n.Value == "":
		d.fault(n, name+" is empty", "write one, or leave it out for stint:")
	case strings.ContainsAny(n.Value, "{}"):
		d.fault(n, name+n.Shown()+" has a brace", "write it without: a cluster places keys by what is in braces")
	case len(n.Value) > maxStorePrefix:
		d.fault(n, name+n.Shown()+" is too long", fmt.Sprintf("at most %d bytes", maxStorePrefix))
	default:
		return
	}
	r.Prefix = word{}
}

// storeURL is the URL of a store.
type storeURL struct{ word }

func (u *storeURL) set(d *decoder, n *node, t tag) {
	if u.word.set(d, n, t); u.n == nil {
		return
	}
	if err := checkStoreURL(u.v); err != nil {
		message, hint := cutHint(err.Error())
		d.fault(n, t.name+" "+message, hint)
		u.word = word{}
	}
}

func (s *store) set(d *decoder, n *node, t tag) {
	if n.Kind == yamlfile.Mapping {
		if d.fields(n, &s.storeFields, t) {
			s.n, s.url = n, s.Redis.URL.n
		}
		return
	}
	var w word
	if w.set(d, n, t); w.n == nil {
		return
	}
	parsed, err := ParseStore(w.v)
	if err != nil {
		message, hint := cutHint(err.Error())
		if n.Filled && !strings.Contains(w.v, "://") {
			message, hint = strings.TrimSpace(n.Shown()+" is not known once the environment is filled in"), storeHint
		}
		n.Hide()
		d.fault(n, t.name+" "+message, hint)
		return
	}
	if s.n = n; parsed.Redis != nil {
		n.Hide()
		s.url, s.Redis.URL.word = n, w
	}
}

// settings returns the store that was written.
func (s *store) settings() Store {
	to := Store{MaxBuckets: s.Memory.MaxBuckets.v, MaxMemory: s.Memory.MaxMemory.v, RefuseNew: s.Memory.WhenFull.v == "refuse"}
	if r := &s.Redis; s.url != nil {
		to.Redis = &Redis{
			URL: r.URL.v, Prefix: r.Prefix.v, Deadline: r.Deadline.v, Probe: r.Probe.v,
			Failures: int(r.Failures.v), Fleet: r.Fleet.settings(), Shield: r.Shield.v, NoShield: r.Shield.off,
		}
	}
	return to
}

// store reads where counts are kept, and lets check look at the URL.
func (b *builder) store(s *store, check func(Store) error) {
	b.file.Store = s.settings()
	b.alone(s)
	if s.url == nil || check == nil {
		return
	}
	err := check(b.file.Store)
	if err == nil {
		return
	}
	name := "store"
	if s.n.Kind == yamlfile.Mapping {
		name = "store.redis.url"
	}
	if showsSecrets(err.Error(), s.url.Value) {
		b.fault(s.url, name+" is no URL of a store", storeURLHint)
		return
	}
	for line := range strings.Lines(err.Error()) {
		message, hint := cutHint(strings.TrimSpace(line))
		b.fault(s.url, name+": "+message, hint)
	}
}
