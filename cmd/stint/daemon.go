package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/admin"
	"github.com/stint-dev/stint/config"
	"github.com/stint-dev/stint/gateway"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/rules"
)

// sweepEvery is how often buckets that are worth nothing are dropped.
const sweepEvery = 5 * time.Second

// server is a running stint.
type server struct {
	process
	flags    serveFlags
	signals  <-chan os.Signal
	logger   *slog.Logger
	watcher  *config.Watcher
	inForce  *config.File
	counts   *counts
	decider  *rules.Decider
	admin    *admin.Admin
	gateway  *gateway.Gateway
	networks networks
}

// networks are the listeners; admin may be nil.
type networks struct{ gateway, admin net.Listener }

// serve runs a server until a signal ends it.
func (p process) serve(ctx context.Context, f serveFlags) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if f.config == "" {
		return errNoConfig
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	s := &server{process: p, flags: f, signals: signals, logger: slog.New(slog.NewTextHandler(p.err, nil))}
	s.watcher = config.NewWatcher(f.config, config.WatchOptions{
		Options: p.options(), Loaded: s.loaded, Failed: s.failed,
	})
	if err := s.watcher.Reload(); err != nil {
		return err
	}
	file := s.watcher.Last()
	listen, kept, err := f.settings(file)
	if err != nil {
		return err
	}
	if err := s.build(file, kept); err != nil {
		return err
	}
	if err := s.listen(listen); err != nil {
		return err
	}
	s.announce(file)
	s.counts.inspect(ctx, s.logger)
	return s.run(ctx)
}

// build makes the parts of the server.
func (s *server) build(file *config.File, kept config.Store) error {
	if !file.Upstream.IsSet() {
		return fmt.Errorf("%s: no upstream to serve: write upstream: http://127.0.0.1:3000, or upstream: demo", file.Path)
	}
	headers, err := httplimit.ParseHeaders(file.Headers)
	if err != nil {
		return err
	}
	if s.counts, err = openCounts(kept, s.storeChanged); err != nil {
		return err
	}
	s.admin = admin.New(admin.Options{
		Version: versionText(), Store: s.counts.stats, Shared: s.counts.shared(), KeyText: rules.KeyText,
	})
	s.decider = rules.NewDecider(&stint.Limiter{Store: s.counts.Store, Observe: s.admin.Observe}, file.Set)
	s.admin.SetRules(shown(file))
	s.admin.Reloaded(time.Now(), nil)
	s.gateway, err = gateway.New(gateway.Options{
		Upstream: file.Upstream.String(),
		Limit: httplimit.Options{
			Decider: s.admin.Timed(s.decider), Headers: headers, DenyStatus: file.DenyStatus,
			TrustedProxies: file.TrustedProxies, TrustUnix: file.TrustUnix, ClientHeader: file.ClientHeader,
		},
		Logger:    s.logger,
		OnFailure: func(f gateway.Failure) { s.admin.UpstreamError(string(f)) },
	})
	return err
}

// storeChanged tells of a shared store that failed, or answers again.
func (s *server) storeChanged(err error) {
	if err != nil {
		s.logger.Error("the shared store fails: each rule decides as its on_store_failure says", "store", s.counts.name, "error", err)
		return
	}
	s.logger.Info("the shared store answers again", "store", s.counts.name)
}

// listen opens the listeners.
func (s *server) listen(at config.Listen) error {
	if at.Gateway == "" {
		return errors.New("the gateway is off, so there is nothing to serve: give it an address with --gateway :8080")
	}
	var err error
	if s.networks.gateway, err = listenAt("gateway", at.Gateway); err != nil {
		return err
	}
	listeners := []admin.Listener{{Name: "gateway", Address: s.networks.gateway.Addr().String()}}
	if at.Admin != "" {
		if s.networks.admin, err = listenAt("admin", at.Admin); err != nil {
			_ = s.networks.gateway.Close()
			return err
		}
		listeners = append(listeners, admin.Listener{Name: "admin", Address: s.networks.admin.Addr().String()})
	}
	s.admin.SetListeners(listeners)
	return nil
}

// listenAt opens one listener.
func listenAt(name, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is in use: end what listens there, or give another address with --%s", name, address, name)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%s: not allowed to listen on %s: give a port from 1024 up with --%s", name, address, name)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return nil, fmt.Errorf("%s: can not listen on %s: %w", name, address, err)
}

// announce says what listens where and what the rules admit.
func (s *server) announce(file *config.File) {
	fmt.Fprintf(s.out, "gateway listens on %s, upstream %s\n", s.networks.gateway.Addr(), file.Upstream)
	if s.networks.admin != nil {
		fmt.Fprintf(s.out, "admin listens on %s\n", s.networks.admin.Addr())
	}
	fmt.Fprintf(s.out, "%s in %s, %s\n", plural(len(file.Spec.Rules), "rule"), file.Path, s.counts)
	for _, sentence := range file.Set.Sentences() {
		fmt.Fprintln(s.out, "  "+sentence)
	}
	s.warn(file)
}

// loaded puts a good file in force.
func (s *server) loaded(file *config.File) {
	old := s.inForce
	if s.inForce = file; old == nil {
		return // The server is not built yet.
	}
	s.decider.Swap(file.Set)
	s.admin.SetRules(shown(file))
	s.admin.Reloaded(time.Now(), nil)
	s.logger.Info("rules read again", "file", file.Path, "rules", len(file.Spec.Rules))
	for _, w := range file.Warnings {
		s.logger.Warn(w.Error())
	}
	if changed := file.Changed(old); len(changed) > 0 {
		s.logger.Warn("some settings take effect after a restart only", "settings", strings.Join(changed, " "))
	}
}

// failed tells of a bad file; the rules stay as they were. At the start there are
// none, and the process ends with the error.
func (s *server) failed(err error) {
	if s.inForce == nil {
		return
	}
	s.admin.Reloaded(time.Now(), err)
	var faults config.Errors
	if !errors.As(err, &faults) {
		faults = config.Errors{{Message: err.Error()}}
	}
	for _, fault := range faults {
		s.logger.Error("rules not read, the last good ones stay in force", "fault", fault.Error())
	}
}

// shown are the rules as the admin shows them.
func shown(file *config.File) []admin.Rule {
	all := make([]admin.Rule, len(file.Spec.Rules))
	for i, sentence := range file.Set.Sentences() {
		id := file.Spec.Rules[i].ID
		all[i] = admin.Rule{ID: id, Sentence: strings.TrimPrefix(strings.TrimPrefix(sentence, id), ": ")}
		for _, policy := range file.Set.Policies() {
			if name, _, _ := strings.Cut(policy.Name, "/"); name == id {
				all[i].Policies = append(all[i].Policies, policy.Name)
			}
		}
	}
	return all
}

// run serves until ctx or a signal ends it.
func (s *server) run(ctx context.Context) error {
	defer s.counts.close()
	defer s.gateway.Close()
	drain, beginDrain := context.WithCancel(ctx)
	background, endBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer endBackground()
	defer beginDrain()
	go s.watcher.Run(drain)
	go s.sweep(drain)
	adminDone := s.serveAdmin(background)
	served := make(chan error, 1)
	go func() {
		served <- (&gateway.Server{Handler: s.gateway, Logger: s.logger, OnDrain: s.admin.Drain}).Serve(drain, s.networks.gateway)
	}()
	for {
		select {
		case err := <-served:
			endBackground()
			return errors.Join(err, <-adminDone)
		case got := <-s.signals:
			if got == syscall.SIGHUP {
				_ = s.watcher.Reload() // Its callbacks tell.
				continue
			}
			if drain.Err() != nil {
				return fmt.Errorf("ended at once by a second signal (%v): requests under way were cut off", got)
			}
			s.logger.Info("draining: requests under way are answered, a second signal ends at once", "signal", got.String())
			beginDrain()
		}
	}
}

// serveAdmin serves the admin listener, if there is one, until ctx ends.
func (s *server) serveAdmin(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	if s.networks.admin == nil {
		done <- nil
		return done
	}
	h := &gateway.Server{Handler: s.admin.Handler(), Logger: s.logger, DrainTimeout: time.Second}
	go func() {
		err := h.Serve(ctx, s.networks.admin)
		if err != nil {
			s.logger.Error("the admin listener failed", "error", err)
		}
		done <- err
	}()
	return done
}

// sweep drops worthless buckets until ctx ends.
func (s *server) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.counts.memory.Sweep(0)
		}
	}
}
