package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// The kinds of servers that this program is when it runs itself.
const (
	serveGRPC = "grpc"
	serveHTTP = "http"
)

// serve is a server that decides nothing, until a signal ends it. It prints its
// address first.
func serve(kind, sizes string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	switch kind {
	case serveGRPC:
		return bareGRPC(l)
	case serveHTTP:
		return bareHTTP(l, sizes)
	}
	return fmt.Errorf("no server is called %q: grpc or http", kind)
}

// allowAll answers OK, to every descriptor as Envoy expects, and looks at nothing.
type allowAll struct {
	pb.UnimplementedRateLimitServiceServer
}

func (allowAll) ShouldRateLimit(_ context.Context, req *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	resp := &pb.RateLimitResponse{OverallCode: pb.RateLimitResponse_OK}
	for range req.GetDescriptors() {
		resp.Statuses = append(resp.Statuses, &pb.RateLimitResponse_DescriptorStatus{Code: pb.RateLimitResponse_OK})
	}
	return resp, nil
}

// bareGRPC has the bounds and the workers of Stint's server, and nothing between
// grpc-go and the answer.
func bareGRPC(l net.Listener) error {
	s := grpc.NewServer(
		grpc.MaxConcurrentStreams(1000),
		grpc.MaxHeaderListSize(16<<10),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.NumStreamWorkers(64),
	)
	pb.RegisterRateLimitServiceServer(s, allowAll{})
	return s.Serve(l)
}

// bareHTTP reads the body and answers so many bytes of JSON: /0 those of the first
// of sizes, /1 those of the second, and so on.
func bareHTTP(l net.Listener, sizes string) error {
	mux := http.NewServeMux()
	for i, text := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 || n > 1<<20 {
			return fmt.Errorf("size %q: a number from 2 to %d", text, 1<<20)
		}
		mux.HandleFunc(fmt.Sprintf("POST /%d", i), constant([]byte(`"`+strings.Repeat("x", n-2)+`"`)))
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	return server.Serve(l)
}

func constant(body []byte) http.HandlerFunc {
	length := strconv.Itoa(len(body))
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(body) // A client that has gone.
	}
}
