package rls_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/descriptors"
	"github.com/stint-dev/stint/memstore"
	"github.com/stint-dev/stint/rls"
)

// epoch is the instant at which test clocks begin: a multiple of a day.
var epoch = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

// door is a rate limit service behind a real listener, and its client.
type door struct {
	t       testing.TB
	clock   *clock
	limiter *stint.Limiter
	service *rls.Service
	client  pb.RateLimitServiceClient
	conn    *grpc.ClientConn
	mu      sync.Mutex
	set     *descriptors.Set
	seen    []stint.Decision
}

// setup changes what a door is made of.
type setup struct {
	service     func(*rls.Options)
	server      func(*rls.ServerOptions)
	descriptors descriptors.Options
	store       stint.Store
}

// open serves a file of descriptors; an empty one is none.
func open(t testing.TB, file string, with setup) *door {
	t.Helper()
	d := &door{t: t, clock: &clock{at: epoch}}
	if file != "" {
		d.load(file, with.descriptors)
	}
	if with.store == nil {
		with.store = memory(t)
	}
	d.limiter = &stint.Limiter{Store: with.store, Clock: d.clock.now}
	o := rls.Options{Limiter: d.limiter, Descriptors: d.current, Observe: d.observe}
	if with.service != nil {
		with.service(&o)
	}
	var err error
	if d.service, err = rls.New(o); err != nil {
		t.Fatal(err)
	}
	so := rls.ServerOptions{Service: d.service, DrainTimeout: 5 * time.Second}
	if with.server != nil {
		with.server(&so)
	}
	d.conn = serve(t, so)
	d.client = pb.NewRateLimitServiceClient(d.conn)
	return d
}

func memory(t testing.TB) *memstore.Store {
	t.Helper()
	s, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve runs a server for the time of the test and connects to it.
func serve(t testing.TB, o rls.ServerOptions) *grpc.ClientConn {
	t.Helper()
	srv, err := rls.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return conn
}

func (d *door) load(file string, o descriptors.Options) {
	d.t.Helper()
	set, err := descriptors.Parse("test.yaml", []byte(file), o)
	if err != nil {
		d.t.Fatalf("%v\n%s", err, file)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.set = set
}

func (d *door) current() *descriptors.Set {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.set
}

func (d *door) observe(seen *stint.Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = append(d.seen, seen.Clone())
}

// call sends a request.
func (d *door) call(req *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return d.client.ShouldRateLimit(ctx, req)
}

// must sends a request that has an answer.
func (d *door) must(req *pb.RateLimitRequest) *pb.RateLimitResponse {
	d.t.Helper()
	resp, err := d.call(req)
	if err != nil {
		d.t.Fatalf("%v: %v", req, err)
	}
	return resp
}

// ask sends what [request] reads to the domain d and returns what [show] writes.
func (d *door) ask(text string) string {
	d.t.Helper()
	return show(d.must(request(d.t, "d", text)))
}

// want asks and compares.
func (d *door) want(text, answer string) {
	d.t.Helper()
	if got := d.ask(text); got != answer {
		d.t.Errorf("%s:\n got %s\nwant %s", text, got, answer)
	}
}

// request reads descriptors: entries k=v with spaces between, " | " between
// descriptors. +3 is a descriptor's hits_addend, -3 one that gives back, #10/MINUTE
// and #10/3*MINUTE its limit. x4 before the first descriptor is the hits_addend of
// the request.
func request(t testing.TB, domain, text string) *pb.RateLimitRequest {
	t.Helper()
	req := &pb.RateLimitRequest{Domain: domain}
	for part := range strings.SplitSeq(text, "|") {
		d := new(ratelimit.RateLimitDescriptor)
		for f := range strings.FieldsSeq(part) {
			switch f[0] {
			case 'x':
				if n, err := strconv.ParseUint(f[1:], 10, 32); err == nil {
					req.HitsAddend = uint32(n)
					continue
				}
			case '+', '-':
				n, err := strconv.ParseUint(f[1:], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				d.HitsAddend, d.IsNegativeHits = wrapperspb.UInt64(n), f[0] == '-'
				continue
			case '#':
				d.Limit = limit(t, f[1:])
				continue
			}
			k, v, _ := strings.Cut(f, "=")
			d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: k, Value: v})
		}
		req.Descriptors = append(req.Descriptors, d)
	}
	return req
}

func limit(t testing.TB, text string) *ratelimit.RateLimitDescriptor_RateLimitOverride {
	t.Helper()
	count, unit, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(count, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	l := &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: uint32(n)}
	if times, rest, ok := strings.Cut(unit, "*"); ok {
		m, _ := strconv.ParseUint(times, 10, 32)
		l.UnitMultiplier, unit = wrapperspb.UInt32(uint32(m)), rest
	}
	l.Unit = typev3.RateLimitUnit(typev3.RateLimitUnit_value[unit])
	return l
}

// show writes an answer: the overall code, and for each descriptor its code and, if
// it has a limit, what is left of how many in which unit, and the reset.
func show(resp *pb.RateLimitResponse) string {
	var parts []string
	for _, st := range resp.GetStatuses() {
		s := code(st.GetCode())
		switch l := st.GetCurrentLimit(); {
		case l != nil:
			s += fmt.Sprintf(" %d/%d", st.GetLimitRemaining(), l.GetRequestsPerUnit())
			if m := l.GetUnitMultiplier(); m != nil {
				s += fmt.Sprintf("*%d", m.GetValue())
			}
			s += strings.ToLower(l.GetUnit().String()[:2])
			if l.GetName() != "" {
				s += " " + l.GetName()
			}
		case st.GetLimitRemaining() == math.MaxUint32:
			s += " unlimited"
		case st.GetLimitRemaining() != 0 || st.GetDurationUntilReset() != nil:
			s += " and numbers without a limit"
		}
		parts = append(parts, s)
	}
	return code(resp.GetOverallCode()) + ": " + strings.Join(parts, " | ")
}

func code(c pb.RateLimitResponse_Code) string {
	switch c {
	case pb.RateLimitResponse_OK:
		return "ok"
	case pb.RateLimitResponse_OVER_LIMIT:
		return "over"
	}
	return c.String()
}
