package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/config"
	"github.com/stint-dev/stint/descriptors"
	"github.com/stint-dev/stint/gateway"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/resp"
	"github.com/stint-dev/stint/rls"
	"github.com/stint-dev/stint/server"
)

// services are what answers behind the doors. Those whose door is shut are nil.
type services struct {
	gateway *gateway.Gateway
	checks  *server.Server // the decision service
	grpc    *rls.Server
	resp    *resp.Server
}

// newServices makes what the listeners need.
func (s *daemon) newServices(file *config.File) error {
	headers, err := httplimit.ParseHeaders(file.Headers)
	if err != nil {
		return err
	}
	limit := httplimit.Options{
		Decider: s.decider, Headers: headers, DenyStatus: file.DenyStatus,
		TrustedProxies: file.TrustedProxies, TrustUnix: file.TrustUnix, ClientHeader: file.ClientHeader,
	}
	if s.at.Gateway != "" {
		if s.gateway, err = gateway.New(gateway.Options{
			Upstream: file.Upstream.String(), Limit: limit, Logger: s.logger,
			OnFailure: func(f gateway.Failure) { s.admin.UpstreamError(string(f)) },
		}); err != nil {
			return err
		}
	}
	if s.at.HTTP != "" || s.at.GRPC != "" {
		if err = s.newCheck(file, limit); err != nil {
			return err
		}
	}
	if s.at.RESP != "" {
		// No rule has a counter of this name.
		s.resp, err = resp.New(resp.Options{Limiter: s.limiter, Name: "resp/throttle", OnError: s.storeFailed})
	}
	return err
}

// newCheck makes the decision service over HTTP and gRPC, with that of Envoy.
func (s *daemon) newCheck(file *config.File, limit httplimit.Options) error {
	e := &file.Envoy
	headers, err := envoyHeaders(e.Headers)
	if err != nil {
		return err
	}
	envoy, err := rls.New(rls.Options{
		Limiter:     &stint.Limiter{Store: s.limiter.Store},
		Descriptors: func() *descriptors.Set { return s.descriptors.Load() },
		Fallback:    s.decider, FallbackN: s.decider.DecideN, Observe: s.admin.Observe,
		Headers: headers, Body: e.Body, RequestHeaders: e.ShadowHeader, DynamicMetadata: e.DynamicMetadata, Shadow: e.Shadow,
	})
	if err != nil {
		return err
	}
	if s.checks, err = server.New(server.Options{
		Limit: limit, Charger: s.decider, Limiter: s.limiter, DecideN: s.decider.DecideN,
		OnError: s.storeFailed, Mount: map[string]http.Handler{"/json": envoy.JSON()},
	}); err != nil {
		return err
	}
	s.grpc, err = rls.NewServer(rls.ServerOptions{
		Service: envoy, Register: func(r grpc.ServiceRegistrar) { s.checks.RegisterGRPC(r) },
		OnPanic: func(fault any) { s.logger.Error("a request met a fault of the service", "fault", fault) },
	})
	return err
}

// envoyHeaders reads the names of headers that Envoy adds to responses.
func envoyHeaders(names []string) (rls.Headers, error) {
	var all rls.Headers
	for _, name := range names {
		switch name {
		case "ratelimit":
			all |= rls.RateLimit
		case "x-ratelimit":
			all |= rls.XRateLimit
		case "ietf":
			all |= rls.IETF
		default:
			return 0, fmt.Errorf("envoy.headers %q: write ratelimit, x-ratelimit or ietf", name)
		}
	}
	return all, nil
}

// storeFailed tells of a decision that nobody could make. A shared store that fails is
// no such thing, since others decide meanwhile.
func (s *daemon) storeFailed(err error) { s.logger.Error("nobody could decide", "error", err) }

// newDoors are the ways in to decisions.
func (s *daemon) newDoors() doors {
	return doors{
		{name: "gateway", about: ", upstream " + s.inForce.Upstream.String(), at: s.at.Gateway, serve: s.serveGateway},
		{name: "http", about: ", POST /v1/check and more", at: s.at.HTTP, serve: s.serveHTTP},
		{name: "grpc", about: ", Envoy's rate limit service", at: s.at.GRPC, serve: s.serveGRPC},
		{name: "resp", about: ", CL.THROTTLE", at: s.at.RESP, serve: s.serveRESP},
	}
}

// newDesk is the way in to what an operator looks at.
func (s *daemon) newDesk() doors {
	return doors{{name: "admin", at: s.at.Admin, serve: func(ctx context.Context, l net.Listener) error {
		return (&gateway.Server{Handler: s.admin.Handler(), Logger: s.logger, DrainTimeout: time.Second}).Serve(ctx, l)
	}}}
}

// serveGateway serves the reverse proxy.
func (s *daemon) serveGateway(ctx context.Context, l net.Listener) error {
	return (&gateway.Server{Handler: s.gateway, Logger: s.logger}).Serve(ctx, l)
}

// serveHTTP serves the decision service.
func (s *daemon) serveHTTP(ctx context.Context, l net.Listener) error {
	return (&gateway.Server{Handler: s.checks, Logger: s.logger}).Serve(ctx, l)
}

// serveGRPC serves the decision service and that of Envoy.
func (s *daemon) serveGRPC(ctx context.Context, l net.Listener) error { return s.grpc.Serve(ctx, l) }

// serveRESP serves who speaks as with Redis.
func (s *daemon) serveRESP(ctx context.Context, l net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- s.resp.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), gateway.DefaultDrainTimeout)
	defer cancel()
	if s.resp.Shutdown(late) != nil {
		s.logger.Warn("drain time is over: connections are cut off")
	}
	if err := <-served; !errors.Is(err, resp.ErrServerClosed) {
		return err
	}
	return nil
}
