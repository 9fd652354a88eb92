package config

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// Store is where the counts are kept: in the memory of the process, or in Redis.
type Store struct {
	// MaxBuckets bounds the buckets kept in memory. 0 means the store's own default.
	// Beside Redis they are those that count while it fails.
	MaxBuckets int64
	// MaxMemory bounds the memory that the buckets take, in bytes. 0 means the store's
	// own default. Whichever of the two bounds is met first counts.
	MaxMemory int64
	// RefuseNew refuses new keys when all buckets in memory are in use. By default
	// those nearest their reset make room.
	RefuseNew bool
	// Redis, if set, keeps the counts.
	Redis *Redis
}

// Redis is a Redis or Valkey that keeps the counts, and what to do while it does not
// answer. What is 0 is the default of what it is given to. However it is printed, it
// does not show its URL.
type Redis struct {
	// URL says where it is, and often holds a password.
	URL string `json:"-"`
	// Prefix begins every key. Empty means that of the URL, or the default.
	Prefix string
	// Deadline is the longest that a decision waits for it.
	Deadline time.Duration
	// Probe is how long it is left alone before it is tried again.
	Probe time.Duration
	// Failures in a row after which it is left alone.
	Failures int
	// Fleet is how many servers share the limits while it fails.
	Fleet Fleet
	// Shield is the longest that a known refusal is repeated without asking.
	Shield time.Duration
	// NoShield asks every time.
	NoShield bool
}

// String names the scheme and the hosts, such as "redis at 127.0.0.1:6379", and
// nothing else of the URL.
func (r Redis) String() string {
	scheme, place := storePlace(r.URL)
	if place == "" {
		return scheme
	}
	return scheme + " at " + place
}

// GoString is [Redis.String] for %#v.
func (r Redis) GoString() string { return fmt.Sprintf("config.Redis(%q)", r.String()) }

// LogValue is [Redis.String] for logs.
func (r Redis) LogValue() slog.Value { return slog.StringValue(r.String()) }

// storeHint says what a store can be.
const storeHint = "write memory, or a URL such as redis://127.0.0.1:6379"

// ParseStore reads a store written as one word: memory, or the URL of a Redis or
// Valkey. What is in the URL is not looked at closely. The error says what to write
// instead, and does not repeat what can hold a password.
func ParseStore(s string) (Store, error) {
	switch {
	case s == "memory":
		return Store{}, nil
	case strings.Contains(s, "://"):
		if err := checkStoreURL(s); err != nil {
			return Store{}, err
		}
		return Store{Redis: &Redis{URL: s}}, nil
	case s == "":
		return Store{}, errors.New("is empty: " + storeHint)
	case strings.ContainsAny(s, "@:"):
		return Store{}, errors.New("is no URL: " + storeHint)
	}
	return Store{}, fmt.Errorf("%q is not known: %s", yamlfile.Cut(s), storeHint)
}

// same says whether s and other are the same store with the same options.
func (s Store) same(other Store) bool {
	a, b := s.Redis, other.Redis
	s.Redis, other.Redis = nil, nil
	return s == other && (a == b || a != nil && b != nil && *a == *b)
}
