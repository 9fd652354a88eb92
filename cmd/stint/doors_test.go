package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
)

const allDoors = `
listen: { gateway: "127.0.0.1:0", http: "127.0.0.1:0", grpc: "127.0.0.1:0", resp: "127.0.0.1:0", admin: "127.0.0.1:0" }
upstream: demo
envoy: { descriptors: limits.yaml }
keys: { client: { header: X-Client }, tenant: { descriptor: tenant } }
rules:
  - { id: per-client, match: { has: client }, key: client, algorithm: fixed_window, limit: 10 per day }
  - { id: per-tenant, match: { has: tenant }, key: tenant, algorithm: fixed_window, limit: 3 per day }
`

// house is a server with all its doors open.
type house struct {
	*testing.T
	dir                              string
	gateway, http, grpc, resp, admin string
	out                              *printed
	end                              func() error
}

// openHouse starts a server with rules, and limits of descriptors.
func openHouse(t *testing.T, rules, limits string) *house {
	t.Helper()
	h := &house{T: t, dir: t.TempDir(), out: new(printed)}
	h.write("stint.yaml", rules)
	h.write("limits.yaml", limits)
	p := process{in: strings.NewReader(""), out: h.out, err: h.out, env: noEnv}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.serve(ctx, serveFlags{config: filepath.Join(h.dir, "stint.yaml")}) }()
	h.end = func() error { cancel(); err := <-done; done <- nil; return err }
	t.Cleanup(func() {
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
	for name, addr := range map[string]*string{"gateway": &h.gateway, "http": &h.http, "grpc": &h.grpc, "resp": &h.resp, "admin": &h.admin} {
		*addr = h.out.await(t, name+` listens on ([0-9.:]+)`)[1]
	}
	h.out.await(t, `counts in`)
	return h
}

// TestTheExampleForEnvoy serves the folder of the example as it is.
func TestTheExampleForEnvoy(t *testing.T) {
	anywhere, off := "127.0.0.1:0", ""
	h := &house{T: t, out: new(printed)}
	p := process{in: strings.NewReader(""), out: h.out, err: h.out, env: noEnv}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- p.serve(ctx, serveFlags{config: "../../examples/envoy.yaml", grpc: &anywhere, http: &off, admin: &off})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	h.grpc = h.out.await(t, `grpc listens on ([0-9.:]+)`)[1]
	conn := h.dial()
	ok, over := pb.RateLimitResponse_OK, pb.RateLimitResponse_OVER_LIMIT
	for i := range 21 {
		want := ok
		if i == 20 {
			want = over
		}
		if got := h.descriptor(conn, "partners", "payout", "p1"); got != want {
			t.Errorf("payout %d: %v", i+1, got)
		}
	}
	for _, c := range []struct {
		entries []string
		want    pb.RateLimitResponse_Code
	}{
		{[]string{"sign_in", "true", "remote_address", "203.0.113.66"}, over},
		{[]string{"sign_in", "true", "remote_address", "192.0.2.10"}, ok},
		{[]string{"sign_in", "true", "remote_address", "192.0.2.11"}, ok},
		{[]string{"plan", "internal"}, ok},
		{[]string{"search", "shoes"}, ok},
		{[]string{"search", "shoes"}, ok}, // in shadow
		{[]string{"of", "no rule"}, ok},
	} {
		if got := h.descriptor(conn, "shop", c.entries...); got != c.want {
			t.Errorf("%q: %v", c.entries, got)
		}
	}
}

func (h *house) write(name, text string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

// post asks the decision service and returns status and body.
func (h *house) post(path, body string) (int, string) {
	h.Helper()
	res, err := http.Post("http://"+h.http+path, "application/json", strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

// dial returns a connection for gRPC.
func (h *house) dial() *grpc.ClientConn {
	h.Helper()
	conn, err := grpc.NewClient(h.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = conn.Close() })
	return conn
}

// descriptor asks as Envoy does about one descriptor, keys and values in turn, and
// returns the code.
func (h *house) descriptor(conn *grpc.ClientConn, domain string, entries ...string) pb.RateLimitResponse_Code {
	h.Helper()
	d := new(ratelimit.RateLimitDescriptor)
	for i := 0; i < len(entries); i += 2 {
		d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: entries[i], Value: entries[i+1]})
	}
	res, err := pb.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), &pb.RateLimitRequest{
		Domain: domain, Descriptors: []*ratelimit.RateLimitDescriptor{d},
	})
	if err != nil {
		h.Fatal(err)
	}
	return res.OverallCode
}

// throttle asks as a client of Redis does and returns the first integer.
func (h *house) throttle(key string) string {
	h.Helper()
	c, err := net.Dial("tcp", h.resp)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "CL.THROTTLE "+key+" 1 1 3600\r\n"); err != nil {
		h.Fatal(err)
	}
	answer := make([]byte, 512)
	n, err := c.Read(answer)
	if err != nil {
		h.Fatal(err)
	}
	lines := bytes.Split(answer[:n], []byte("\r\n"))
	return string(lines[1])
}

// TestAllDoorsAskOneStore: the gateway and the decision service share the bucket of a
// client, whichever way it is asked.
func TestAllDoorsAskOneStore(t *testing.T) {
	h := openHouse(t, allDoors, loginDescriptors("3"))
	for i := range 4 {
		if res := ask(t, "http://"+h.gateway+"/"); res.StatusCode != http.StatusOK {
			t.Fatalf("request %d: %s", i, res.Status)
		}
	}
	status, body := h.post("/v1/check", `{"charges": [{"rule": "per-client", "key": ["one"], "cost": 5}]}`)
	if status != http.StatusOK || !strings.Contains(body, `"allowed":true`) || !strings.Contains(body, `"remaining":1`) {
		t.Errorf("%d %s", status, body)
	}
	status, body = h.post("/v1/check", `{"method": "GET", "path": "/", "headers": {"X-Client": "one"}, "cost": 2}`)
	if status != http.StatusOK || !strings.Contains(body, `"allowed":false`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body = h.post("/v1/refund", `{"charges": [{"rule": "per-client", "key": ["one"], "cost": 3}]}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if res := ask(t, "http://"+h.gateway+"/"); res.StatusCode != http.StatusOK || res.Header.Get("X-RateLimit-Remaining") != "3" {
		t.Errorf("after the refund: %s, %v", res.Status, res.Header)
	}
	conn := h.dial()
	for i := range 4 {
		want := pb.RateLimitResponse_OK
		if i == 3 {
			want = pb.RateLimitResponse_OVER_LIMIT
		}
		if got := h.descriptor(conn, "login", "user", "u1"); got != want {
			t.Errorf("descriptor, call %d: %v", i, got)
		}
		if got := h.descriptor(conn, "of-no-file", "tenant", "t1"); got != want {
			t.Errorf("by rules, call %d: %v", i, got)
		}
	}
	res, err := pb.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), &pb.RateLimitRequest{
		Domain: "of-no-file", HitsAddend: 2,
		Descriptors: []*ratelimit.RateLimitDescriptor{{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "tenant", Value: "t2"}}}},
	})
	if err != nil || res.Statuses[0].LimitRemaining != 1 {
		t.Errorf("two hits by rules: %v, %v", res, err)
	}
	if got := h.throttle("a") + h.throttle("a") + h.throttle("a"); got != ":0:0:1" {
		t.Errorf("CL.THROTTLE: %s", got)
	}
	metrics := h.metrics()
	for _, want := range []string{
		`stint_decisions_total{result="allowed",rule="login/user"} 3`,
		`stint_decisions_total{result="refused",rule="per-tenant"} 1`,
		`stint_decisions_total{result="refused",rule="resp/throttle"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

func loginDescriptors(limit string) string {
	return "domain: login\ndescriptors:\n  - { key: user, rate_limit: { unit: day, requests_per_unit: " + limit + " } }\n"
}

func (h *house) metrics() string {
	h.Helper()
	res, err := http.Get("http://" + h.admin + "/metrics")
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return string(body)
}

// TestDescriptorsAreReloaded: a raised limit of descriptors is in force without a
// restart, and what was used stays used. A bad file changes nothing.
func TestDescriptorsAreReloaded(t *testing.T) {
	h := openHouse(t, allDoors, loginDescriptors("2"))
	conn := h.dial()
	ok, over := pb.RateLimitResponse_OK, pb.RateLimitResponse_OVER_LIMIT
	for i, want := range []pb.RateLimitResponse_Code{ok, ok, over} {
		if got := h.descriptor(conn, "login", "user", "u"); got != want {
			t.Errorf("call %d: %v", i, got)
		}
	}
	h.write("limits.yaml", loginDescriptors("none"))
	h.out.await(t, `limits.yaml:3`)
	if got := h.descriptor(conn, "login", "user", "u"); got != over {
		t.Errorf("after a bad file: %v", got)
	}
	h.write("limits.yaml", loginDescriptors("3"))
	h.out.await(t, `rules read again`)
	for i, want := range []pb.RateLimitResponse_Code{ok, over} {
		if got := h.descriptor(conn, "login", "user", "u"); got != want {
			t.Errorf("after the reload, call %d: %v", i, got)
		}
	}
}

// TestAllDoorsDrain: when the server ends, health fails, and everything has gone.
func TestAllDoorsDrain(t *testing.T) {
	h := openHouse(t, allDoors, loginDescriptors("2"))
	conn := h.dial()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	watch, err := health.NewHealthClient(conn).Watch(ctx, &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.Status != health.HealthCheckResponse_SERVING {
		t.Fatalf("health: %v, %v", got, err)
	}
	idle, err := net.Dial("tcp", h.resp)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = idle.Close() }()
	if err := h.end(); err != nil {
		t.Error(err)
	}
	if got, err := watch.Recv(); err == nil && got.Status == health.HealthCheckResponse_SERVING {
		t.Error("health still says that it serves")
	}
	for _, addr := range []string{h.gateway, h.http, h.grpc, h.resp, h.admin} {
		if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			_ = c.Close()
			t.Errorf("%s still takes connections", addr)
		}
	}
}
