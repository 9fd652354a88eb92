package rls

import (
	"context"
	"errors"
	"fmt"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/descriptors"
)

// Bounds of a request. Passing one is the error InvalidArgument.
const (
	// MaxDescriptors is the most descriptors.
	MaxDescriptors = 1000
	// MaxEntries is the most entries of one descriptor.
	MaxEntries = 100
)

// Options of a [Service]. Limiter must be set, and Descriptors or Fallback.
type Options struct {
	// Limiter settles the charges of descriptors. Its Observe sees the names of
	// counters, which many rules share; leave it nil and set Observe here.
	Limiter *stint.Limiter
	// Descriptors returns the files in force, nil while there are none. It is called
	// once for each request and must not block.
	Descriptors func() *descriptors.Set
	// Fallback decides about requests whose domain is in no file. Without one they
	// have no limit.
	Fallback stint.Decider
	// FallbackN decides in Fallback's place about a request whose hits_addend is n.
	// Without it such a request is charged as any other.
	FallbackN func(ctx context.Context, src stint.Source, n int64, d *stint.Decision) error
	// Observe, if set, sees every decision about descriptors before it is answered;
	// policies have the names of rules in it. It must not keep d or change it.
	// Decisions of Fallback are for its own observer.
	Observe func(d *stint.Decision)

	// Headers are added to the response to the client. 0 is none. A refusal has
	// Retry-After besides, whatever is chosen.
	Headers Headers
	// Body sends a JSON document about the limit with a refusal, and its content
	// type. It is not for routes of gRPC, where Envoy writes the body into a header.
	Body bool
	// RequestHeaders tells the upstream of rules in shadow mode that would have
	// refused, in the request header X-Stint-Shadow.
	RequestHeaders bool
	// DynamicMetadata answers with what was asked and with the metadata of rules, for
	// Envoy's filters and access logs.
	DynamicMetadata bool
	// Shadow puts all rules of files into shadow mode.
	Shadow bool
}

// check says what is wrong with the options.
func (o *Options) check() error {
	switch {
	case o.Limiter == nil:
		return errors.New("the rate limit service has no limiter: set Options.Limiter")
	case o.Descriptors == nil && o.Fallback == nil:
		return errors.New("the rate limit service has nothing to decide by: set Options.Descriptors or Options.Fallback")
	case o.Headers >= unknownHeaders:
		return fmt.Errorf("headers %#x: not a set of profiles of this package", uint8(o.Headers))
	}
	return nil
}
