package main

import (
	"debug/buildinfo"
	"fmt"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// oneDescriptor is part a: as fast as it goes, then everyone at the same rate.
func (b *bench) oneDescriptor() error {
	subjects, done, err := b.rls(questions(func(user, _ string) *pb.RateLimitRequest {
		return question([]string{"user", user})
	}), 0)
	defer done()
	if err != nil {
		return err
	}
	b.sayRatelimit()
	full, err := b.alternate(subjects, load{time: b.turn})
	if err != nil {
		return err
	}
	full.table("call", bareRLS).Write(b.w, fmt.Sprintf("Envoy's rate limit service: one descriptor of %d, %d workers on %d connections", users, workers, connections))
	b.decided("one descriptor", full)
	slowest := onRedis
	if full.Has(envoys) {
		slowest = envoys
	}
	rate := full.Median(slowest, perSecond) / 2
	half, err := b.alternate(subjects, load{time: b.turn, rate: rate})
	if err != nil {
		return err
	}
	half.table("call", bareRLS).Write(b.w, fmt.Sprintf("The same at the same rate, half of what %s bore: %.0f calls/s", slowest, rate))
	b.quicker("one descriptor, the same rate", half)
	return nil
}

// threeDescriptors is part b: one of them has two entries.
func (b *bench) threeDescriptors() error {
	subjects, done, err := b.rls(questions(func(user, addr string) *pb.RateLimitRequest {
		return question([]string{"user", user}, []string{"user", user, "path", "/v1/orders"}, []string{"remote_address", addr})
	}), 0)
	defer done()
	if err != nil {
		return err
	}
	full, err := b.alternate(subjects, load{time: b.turn})
	if err != nil {
		return err
	}
	full.table("call", bareRLS).Write(b.w, "Envoy's rate limit service: three descriptors, each of many values")
	b.decided("three descriptors", full)
	return nil
}

// hotKey is part c. Everyone refuses without asking Redis.
func (b *bench) hotKey() error {
	subjects, done, err := b.rls([]*pb.RateLimitRequest{question([]string{"hot", "one"})}, 1)
	defer done()
	if err != nil {
		return err
	}
	full, err := b.alternate(subjects, load{time: b.turn})
	if err != nil {
		return err
	}
	full.table("call", bareRLS).Write(b.w, "Envoy's rate limit service: one key over its limit")
	b.limit("CPU of a refusal, memory: of the bare server's", 1.2, full.Ratio(inMemory, bareRLS, cpu), " ×")
	b.limit("CPU of a refusal, Redis: of the bare server's", 1.2, full.Ratio(onRedis, bareRLS, cpu), " ×")
	b.quicker("one key over its limit", full)
	return nil
}

// rls makes the subjects of a part, and makes sure that they have the limits. What
// is returned lets go of them.
func (b *bench) rls(questions []*pb.RateLimitRequest, refused float64) ([]*subject, func(), error) {
	servers, done, err := b.rlsServers()
	if err != nil {
		return nil, done, err
	}
	var subjects []*subject
	for _, s := range servers {
		if err := s.prove(questions[0]); err != nil {
			return nil, done, err
		}
		subjects = append(subjects, s.subject(questions, refused))
	}
	return subjects, done, nil
}

// sayRatelimit says which envoyproxy/ratelimit this is, or how to get it.
func (b *bench) sayRatelimit() {
	if _, ok := b.find(envoys); !ok {
		fmt.Fprintf(b.w, "envoyproxy/ratelimit is left out: there is no %s; go install github.com/envoyproxy/ratelimit/src/service_cmd@latest makes one.\n\n", b.ratelimit)
		return
	}
	info, err := buildinfo.ReadFile(b.ratelimit)
	if err != nil {
		return // It need not be built as a module.
	}
	fmt.Fprintf(b.w, "envoyproxy/ratelimit is %s, made by %s.\n\n", info.Main.Version, info.GoVersion)
}

// decided adds the targets of a call that is let through.
func (b *bench) decided(what string, t *turns) {
	b.limit("CPU of a call in memory, "+what+": of the bare server's", 1.2, t.Ratio(inMemory, bareRLS, cpu), " ×")
	b.limit("CPU of a call on Redis, "+what, 36, t.Median(onRedis, cpu), " µs")
	b.quicker(what, t)
}

// quicker adds the target of having a lower p99 than envoyproxy/ratelimit.
func (b *bench) quicker(what string, t *turns) {
	if t.Has(envoys) {
		b.limit("p99 on Redis, "+what+": of envoyproxy/ratelimit's", 1, t.Ratio(onRedis, envoys, p99), " ×")
	}
}
