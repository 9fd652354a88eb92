package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/admin"
	"github.com/stint-dev/stint/config"
	"github.com/stint-dev/stint/descriptors"
	"github.com/stint-dev/stint/rules"
)

// sweepEvery is how often buckets that are worth nothing are dropped.
const sweepEvery = 5 * time.Second

// daemon is a running stint.
type daemon struct {
	process
	flags       serveFlags
	signals     <-chan os.Signal
	logger      *slog.Logger
	watcher     *config.Watcher
	inForce     *config.File
	at          config.Listen // where to listen
	counts      *counts
	told        damped // lines about the shared store
	limiter     *stint.Limiter
	decider     *rules.Decider
	descriptors atomic.Pointer[descriptors.Set]
	admin       *admin.Admin
	services
	doors doors
	desk  doors // the admin's, if it is on: it stays open while the others drain
}

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
	s := &daemon{process: p, flags: f, signals: signals, logger: slog.New(slog.NewTextHandler(p.err, nil))}
	s.watcher = config.NewWatcher(f.config, config.WatchOptions{
		Options: p.options(), Loaded: s.loaded, Failed: s.failed, NoSpec: true,
	})
	if err := s.watcher.Reload(); err != nil {
		return err
	}
	file := s.watcher.Last()
	var kept config.Store
	var err error
	if s.at, kept, err = f.settings(file); err != nil {
		return err
	}
	if err := s.build(file, kept); err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	s.announce(file)
	s.counts.inspect(ctx, s.logger)
	return s.run(ctx)
}

// build makes the parts of the server.
func (s *daemon) build(file *config.File, kept config.Store) error {
	if err := s.checkDoors(file); err != nil {
		return err
	}
	var err error
	if s.counts, err = openCounts(kept, s.storeChanged, s.logger); err != nil {
		return err
	}
	s.admin = admin.New(admin.Options{
		Version: versionText(), Store: s.counts.stats, Shared: s.counts.sharedStats(), KeyText: rules.KeyText,
	})
	s.limiter = &stint.Limiter{Store: s.admin.Timed(s.counts.Store), Observe: s.admin.Observe}
	s.decider = rules.NewDecider(s.limiter, file.Set)
	s.descriptors.Store(file.Envoy.Set)
	s.admin.SetRules(shown(file))
	s.admin.Reloaded(time.Now(), nil)
	return s.newServices(file)
}

// checkDoors says what is missing for what is to be served.
func (s *daemon) checkDoors(file *config.File) error {
	on := s.at.Gateway != "" || s.at.HTTP != "" || s.at.GRPC != "" || s.at.RESP != ""
	switch {
	case s.at.Gateway != "" && !file.Upstream.IsSet():
		return fmt.Errorf("%s: no upstream to serve: write upstream: http://127.0.0.1:3000, or upstream: demo", file.Path)
	case !on:
		return fmt.Errorf("%s: nothing to serve: write upstream: http://127.0.0.1:3000 for a gateway, or give an address to http, grpc or resp under listen", file.Path)
	}
	return nil
}

// storeChanged tells of a shared store that failed, or answers again.
func (s *daemon) storeChanged(err error) {
	s.told.tell(func(changes int) {
		if err != nil {
			s.logger.Error("the shared store fails: each rule decides as its on_store_failure says",
				"store", s.counts.name, "changes", changes, "error", err)
			return
		}
		s.logger.Info("the shared store answers again", "store", s.counts.name, "changes", changes)
	})
}

// open opens the listeners.
func (s *daemon) open() error {
	var err error
	if s.doors, err = s.newDoors().open(); err != nil {
		return err
	}
	if s.desk, err = s.newDesk().open(); err != nil {
		s.doors.close()
		return err
	}
	s.admin.SetListeners(append(s.doors.shown(), s.desk.shown()...))
	return nil
}

// announce says what listens where and what the rules admit.
func (s *daemon) announce(file *config.File) {
	for _, d := range slices.Concat(s.doors, s.desk) {
		fmt.Fprintln(s.out, d)
	}
	fmt.Fprintf(s.out, "%s in %s, %s\n", sizeOf(file), file.Path, s.counts)
	s.explain(file)
	s.warn(file)
}

// loaded puts a good file in force.
func (s *daemon) loaded(file *config.File) {
	old := s.inForce
	if s.inForce = file; old == nil {
		return // The server is not built yet.
	}
	s.decider.Swap(file.Set)
	s.descriptors.Store(file.Envoy.Set)
	s.counts.forget()
	s.admin.SetRules(shown(file))
	s.admin.Reloaded(time.Now(), nil)
	s.logger.Info("rules read again", "file", file.Path, "has", sizeOf(file))
	for _, w := range file.Warnings {
		s.logger.Warn(w.Error())
	}
	if changed := file.Changed(old); len(changed) > 0 {
		s.logger.Warn("some settings take effect after a restart only", "settings", strings.Join(changed, " "))
	}
}

// failed tells of a bad file; the rules stay as they were. At the start there are
// none, and the process ends with the error.
func (s *daemon) failed(err error) {
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
	all := make([]admin.Rule, file.Set.Len())
	for i, sentence := range file.Set.Sentences() {
		id := file.Set.ID(i)
		all[i] = admin.Rule{ID: id, Sentence: strings.TrimPrefix(strings.TrimPrefix(sentence, id), ": ")}
		for _, policy := range file.Set.PoliciesOf(i) {
			all[i].Policies = append(all[i].Policies, policy.Name)
		}
	}
	if set := file.Envoy.Set; set != nil {
		rules := set.Rules()
		for _, r := range rules[:min(len(rules), maxShown)] {
			all = append(all, admin.Rule{ID: r.Name, Sentence: r.Sentence(), Policies: []string{r.Name}})
		}
	}
	return all
}

// maxShown is how many limits of descriptors stand on the page.
const maxShown = 200

// run serves until ctx or a signal ends it.
func (s *daemon) run(ctx context.Context) error {
	defer s.close()
	drain, beginDrain := context.WithCancel(ctx)
	background, endBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer endBackground()
	defer beginDrain()
	context.AfterFunc(drain, s.admin.Drain)
	go s.watcher.Run(drain)
	go s.sweep(drain)
	served, deskServed := make(chan error, 1), make(chan error, 1)
	go func() { served <- s.doors.serve(drain) }()
	go func() {
		err := s.desk.serve(background)
		if err != nil {
			s.logger.Error(err.Error())
		}
		deskServed <- err
	}()
	for {
		select {
		case err := <-served:
			endBackground()
			return errors.Join(err, <-deskServed)
		case got := <-s.signals:
			if got == syscall.SIGHUP {
				_ = s.watcher.Reload() // Its callbacks tell.
				continue
			}
			if drain.Err() != nil {
				return fmt.Errorf("ended at once by a second signal (%v): requests under way were cut off", got)
			}
			s.logger.Info("draining: requests under way are answered, a second signal ends at once", "signal", got.String())
			s.admin.Drain()
			beginDrain()
		}
	}
}

// close lets go of what the server holds.
func (s *daemon) close() {
	if s.gateway != nil {
		s.gateway.Close()
	}
	s.counts.close()
	s.told.flush()
}

// sweep drops worthless buckets until ctx ends.
func (s *daemon) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.counts.sweep()
		}
	}
}
