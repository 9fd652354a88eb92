package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// As many workers ask on as many connections.
const (
	workers     = 50
	connections = 4
)

// rlsServer is a server of Envoy's protocol.
type rlsServer struct {
	name  string
	addr  string
	pid   int
	store int // the process of its Redis
	conns [connections]*grpc.ClientConn
}

// rlsServers starts the servers of parts a, b and c where they do not run yet, and
// connects to them. What is returned besides closes the connections.
func (b *bench) rlsServers() (all []*rlsServer, done func(), err error) {
	done = func() {
		for _, s := range all {
			s.close()
		}
	}
	redis, err := b.startRedis()
	if err != nil {
		return nil, done, err
	}
	for _, one := range []struct {
		name  string
		store int
		start func() (target, error)
	}{
		{bareRLS, 0, func() (target, error) { return b.startSelf(bareRLS, "-serve", serveGRPC) }},
		{inMemory, 0, func() (target, error) { s, err := b.startStint(inMemory, ""); return s.target, err }},
		{onRedis, redis.pid, func() (target, error) { s, err := b.startStint(onRedis, redis.addr); return s.target, err }},
		{envoys, redis.pid, func() (target, error) { return b.startRatelimit(redis.addr) }},
	} {
		t, ok := b.find(one.name)
		if !ok {
			t, err = one.start()
		}
		switch {
		case errors.Is(err, errAbsent):
			err = nil
			continue
		case err != nil:
			return all, done, err
		}
		s := &rlsServer{name: t.name, addr: t.addr, pid: t.pid, store: one.store}
		all = append(all, s)
		if err := s.connect(); err != nil {
			return all, done, err
		}
	}
	return all, done, nil
}

func (s *rlsServer) connect() error {
	for i := range s.conns {
		conn, err := grpc.NewClient("passthrough:///"+s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		s.conns[i] = conn
	}
	return nil
}

func (s *rlsServer) close() {
	for _, c := range s.conns {
		if c != nil {
			c.Close()
		}
	}
}

// subject asks s the questions, drawn at random by each worker. refused is the part
// that everyone but the bare server refuses.
func (s *rlsServer) subject(questions []*pb.RateLimitRequest, refused float64) *subject {
	if s.name == bareRLS {
		refused = 0
	}
	sub := &subject{name: s.name, pid: s.pid, store: s.store, refused: refused}
	for w := range workers {
		client := pb.NewRateLimitServiceClient(s.conns[w%connections])
		random := rand.New(rand.NewPCG(1, uint64(w)))
		sub.callers = append(sub.callers, func() (answer, error) {
			// Envoy sends a deadline with each call.
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			resp, err := client.ShouldRateLimit(ctx, questions[random.IntN(len(questions))])
			if err != nil {
				return answer{}, err
			}
			if resp.GetOverallCode() == pb.RateLimitResponse_OVER_LIMIT {
				return answer{1, 1}, nil
			}
			return answer{units: 1}, nil
		})
	}
	return sub
}

// prove asks a question a few times, until a limit of ten is over, and makes sure
// that every descriptor of it has a limit.
func (s *rlsServer) prove(question *pb.RateLimitRequest) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := pb.NewRateLimitServiceClient(s.conns[0])
	for range 20 {
		resp, err := client.ShouldRateLimit(ctx, question, grpc.WaitForReady(true))
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if n, want := len(resp.GetStatuses()), len(question.GetDescriptors()); n != want {
			return fmt.Errorf("%s: %d statuses for %d descriptors", s.name, n, want)
		}
		for _, status := range resp.GetStatuses() {
			if s.name != bareRLS && status.GetCurrentLimit() == nil {
				return fmt.Errorf("%s: no limit for a descriptor of %v", s.name, question)
			}
		}
		time.Sleep(time.Millisecond) // envoyproxy/ratelimit remembers a refusal a little later.
	}
	return nil
}

// question asks about one descriptor for each list of keys and values.
func question(all ...[]string) *pb.RateLimitRequest {
	req := &pb.RateLimitRequest{Domain: "shop", HitsAddend: 1}
	for _, pairs := range all {
		d := new(ratelimit.RateLimitDescriptor)
		for i := 0; i+1 < len(pairs); i += 2 {
			d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
		}
		req.Descriptors = append(req.Descriptors, d)
	}
	return req
}

// questions makes one for each user.
func questions(of func(user, addr string) *pb.RateLimitRequest) []*pb.RateLimitRequest {
	all := make([]*pb.RateLimitRequest, users)
	for i := range all {
		all[i] = of(user(i), fmt.Sprintf("198.51.%d.%d", i>>8, i&255))
	}
	return all
}

func user(i int) string { return fmt.Sprintf("user-%07d", i) }
