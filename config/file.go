package config

import (
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/stint-dev/stint/internal/yamlfile"
	"github.com/stint-dev/stint/rules"
)

// File is what a rules file says, defaults filled in. A File is not changed after
// it was made.
type File struct {
	// Path is the file's name as it was given.
	Path string
	// Listen is where to listen.
	Listen Listen
	// Upstream is the server behind the gateway, if there is one.
	Upstream Upstream
	// Envoy is what is said about Envoy's requests.
	Envoy Envoy
	// Store is where the counts are kept.
	Store Store
	// TrustedProxies are the networks whose word about a client is believed.
	TrustedProxies []netip.Prefix
	// TrustUnix believes peers on Unix sockets.
	TrustUnix bool
	// ClientHeader is the header in which trusted proxies name the client; empty
	// means X-Forwarded-For.
	ClientHeader string
	// Headers are the names of the rate headers to send: x-ratelimit, ietf, github,
	// or none alone.
	Headers []string
	// DenyStatus is the status of a refusal.
	DenyStatus int
	// Spec is the rules as they were written.
	Spec rules.Spec
	// Set is Spec compiled.
	Set *rules.Set
	// Warnings are what is legal and probably not meant.
	Warnings []*Error
}

// Options of [Load] and [Parse]. The zero Options have no environment.
type Options struct {
	// Env looks up ${NAME}, as os.LookupEnv does. Nil means that no variable is
	// set.
	Env func(name string) (value string, ok bool)
	// CheckStore says what is wrong with the URL of a store with Redis. Its error
	// must show no password. Nil means that the URL is not looked at closely.
	CheckStore func(Store) error
}

// Load reads the file at path, and the CSV file of plans that it names. Its errors
// are [Errors].
func Load(path string, o Options) (*File, error) {
	f, _, err := load(path, o)
	return f, err
}

// Parse is [Load] for a file that is in memory. A CSV file of plans is looked for
// beside name.
func Parse(name string, data []byte, o Options) (*File, error) {
	return parse(name, data, o, new(disk))
}

// load also returns what was read, even if it was no good.
func load(path string, o Options) (*File, []source, error) {
	d := new(disk)
	data, message, hint := d.read(path, maxBytes)
	if message != "" {
		return nil, d.seen, Errors{{File: path, Message: message, Hint: hint}}
	}
	f, err := parse(path, data, o, d)
	return f, d.seen, err
}

func parse(name string, data []byte, o Options, disk *disk) (*File, error) {
	found := &faults{File: name}
	if len(data) > maxBytes {
		message, hint := tooLarge(int64(len(data)), maxBytes)
		return nil, Errors{{File: name, Message: message, Hint: hint}}
	}
	root := (&reader{faults: found, env: o.Env}).read(data)
	if root == nil {
		return nil, found.Sorted()
	}
	if root.Kind == yamlfile.Null {
		found.Add(&Error{File: name, Line: 1, Column: 1, Message: "no rules: the file is empty", Hint: "write rules: [] to let everything through"})
		return nil, found.Sorted()
	}
	if n := root.Find("descriptors"); n != nil && root.Find("domain") != nil && root.Find("rules") == nil {
		found.Add(&Error{
			File: name, Line: n.Line, Column: n.Column, Message: "this is a file with limits of descriptors, not one of rules",
			Hint: "name it in one of rules: envoy: { descriptors: " + filepath.Base(name) + " }",
		})
		return nil, found.Sorted()
	}
	var written shape
	d := &decoder{faults: found, layouts: make(map[reflect.Type]*layout)}
	if d.fields(root, &written, tag{}) {
		b := newBuilder(d, root, o)
		b.disk = disk
		b.build(&written)
		b.compile()
		if len(found.List) == 0 {
			return b.file, nil
		}
	}
	return nil, found.Sorted()
}

// Changed names the settings that differ between f and old and take effect only
// when a server starts: the rest of a file can be changed while it runs.
func (f *File) Changed(old *File) []string {
	var changed []string
	note := func(name string, same bool) {
		if !same {
			changed = append(changed, name)
		}
	}
	note("listen", f.Listen == old.Listen)
	note("upstream", f.Upstream.String() == old.Upstream.String())
	note("store", f.Store.same(old.Store))
	note("trusted_proxies", slices.Equal(f.TrustedProxies, old.TrustedProxies) && f.TrustUnix == old.TrustUnix)
	note("client_ip.header", f.ClientHeader == old.ClientHeader)
	note("headers", slices.Equal(f.Headers, old.Headers))
	note("envoy", f.Envoy.same(old.Envoy))
	note("deny_status", f.DenyStatus == old.DenyStatus)
	return changed
}
