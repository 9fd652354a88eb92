package config

import (
	"errors"
	"slices"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/descriptors"
)

// Envoy is what is said about Envoy's requests. The zero Envoy has no limits of its
// own.
type Envoy struct {
	// Set is the limits of descriptors, nil if there are none.
	Set *descriptors.Set
	// Headers are the names of the headers to add to responses: ratelimit,
	// x-ratelimit, ietf.
	Headers []string
	// Body sends a JSON body with refusals.
	Body bool
	// ShadowHeader tells upstreams of shadow rules that would have refused.
	ShadowHeader bool
	// DynamicMetadata answers with metadata.
	DynamicMetadata bool
	// Shadow refuses nothing.
	Shadow bool
}

// same says whether e and other differ in nothing that takes effect only when a
// server starts.
func (e Envoy) same(other Envoy) bool {
	return (e.Set == nil) == (other.Set == nil) && slices.Equal(e.Headers, other.Headers) && e.Body == other.Body &&
		e.ShadowHeader == other.ShadowHeader && e.DynamicMetadata == other.DynamicMetadata && e.Shadow == other.Shadow
}

// envoy reads what is said about Envoy, and the files with limits.
func (b *builder) envoy(e *envoy) {
	if e.n == nil {
		return
	}
	for i, one := range e.Headers.v {
		if one.v == "none" && len(e.Headers.v) > 1 {
			b.fault(e.Headers.v[i].n, "envoy.headers names none beside others", "leave out none, or write it alone")
		} else if one.v != "none" {
			b.file.Envoy.Headers = append(b.file.Envoy.Headers, one.v)
		}
	}
	to := &b.file.Envoy
	to.Body, to.ShadowHeader, to.DynamicMetadata, to.Shadow = e.Body.v, e.ShadowHeader.v, e.Metadata.v, e.Mode.v == "shadow"
	switch w := &e.Descriptors; {
	case w.n == nil:
		if n := firstOf(e.MergeDomains.n, e.Algorithm.n, e.OnStoreFailure.n); n != nil {
			b.fault(n, "envoy."+nameOf(e.n, n)+" is about descriptors, and there are none", "write descriptors: and the name of a file or a folder")
		}
	case w.v == "":
		b.fault(w.n, "envoy.descriptors is empty", "write the name of a file or a folder")
	default:
		b.descriptors(e)
	}
}

// descriptors loads the files with limits.
func (b *builder) descriptors(e *envoy) {
	path := b.beside(e.Descriptors.v)
	b.disk.see(path)
	o := descriptors.Options{
		MergeDomains: e.MergeDomains.v, HashKey: b.file.Spec.HashKey, OnStoreFailure: stint.FailureMode(e.OnStoreFailure.v),
	}
	if name := e.Algorithm.v; name != "" {
		o.Algorithm, _ = algo.ByName(name)
	}
	set, err := descriptors.Load(path, o)
	for _, one := range split(err) {
		if f, ok := errors.AsType[*descriptors.Error](one); ok {
			b.Add(f)
		} else {
			b.fault(e.Descriptors.n, "envoy.descriptors: "+one.Error(), "")
		}
	}
	if b.file.Envoy.Set = set; err != nil {
		e.Descriptors.n.Faulty = true
	}
}
