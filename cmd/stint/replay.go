package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stint-dev/stint/replay"
)

// replayFlags are what the command line says about a replay.
type replayFlags struct {
	config string
	json   bool
}

func newReplay(p process) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay -c FILE [LOG...]",
		Short: "say what rules would have refused, from access logs",
		Long: `replay puts each request of access logs through the rules at the log's own time
and reports what they would have refused, whom, and which limits would have been
enough. It reads the common and combined formats and the JSON lines of Caddy,
Traefik, nginx and Envoy, also mixed and gzipped. Several logs are merged by
time. Without a log, or for -, it reads the standard input.

Each rule in shadow is counted as if it were alone, so that limits can be
compared in one run.`,
		Example: "  stint replay -c examples/replay/per-minute.yaml access.log access.log.1.gz",
		RunE: func(_ *cobra.Command, args []string) error {
			return p.replay(&f, args)
		},
	}
	configFlag(cmd, &f.config)
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// replay prints what the rules would have said to the logs.
func (p process) replay(f *replayFlags, paths []string) error {
	file, err := p.load(f.config)
	if err != nil {
		return err
	}
	logs, err := p.openLogs(paths)
	if err != nil {
		return err
	}
	defer logs.close()
	bar := startProgress(p.err, logs.size)
	report, err := interruptible(func(ctx context.Context) (*replay.Report, error) {
		return replay.Run(ctx, replay.Options{
			Rules: file.Spec, TrustedProxies: file.TrustedProxies, ClientHeader: file.ClientHeader,
			MaxBuckets: file.Store.MaxBuckets,
		}, logs.of(bar)...)
	})
	bar.end()
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted: nothing to report")
	case report == nil:
		return err
	case f.json:
		return errors.Join(writeJSON(p.out, report), err)
	}
	_, writeErr := fmt.Fprint(p.out, replayText(report))
	return errors.Join(writeErr, err)
}

// interruptible runs f until a signal. It does not wait for f then, which may be
// reading what never comes.
func interruptible(f func(context.Context) (*replay.Report, error)) (*replay.Report, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	done := make(chan struct{})
	var got *replay.Report
	var failed error
	go func() {
		defer close(done)
		got, failed = f(ctx)
	}()
	select {
	case <-done:
		return got, failed
	case <-ctx.Done():
		return nil, context.Canceled
	}
}

// openedLogs are logs to read.
type openedLogs struct {
	logs  []replay.Log
	files []*os.File
	size  int64 // of all of them, 0 if that is not known
}

// openLogs opens logs; - is the standard input, and so are no paths at all.
func (p process) openLogs(paths []string) (*openedLogs, error) {
	if len(paths) == 0 {
		paths = []string{"-"}
	}
	if len(paths) > replay.MaxLogs {
		return nil, usagef("%d logs: at most %d at once, or pass them on the standard input", len(paths), replay.MaxLogs)
	}
	logs := new(openedLogs)
	var faults []error
	piped := false
	for _, path := range paths {
		if path == "-" {
			if piped {
				faults = append(faults, usagef("the standard input is named twice: write - once"))
			}
			piped = true
			logs.logs = append(logs.logs, replay.Log{Name: "stdin", Reader: p.in})
			continue
		}
		if err := logs.open(path); err != nil {
			faults = append(faults, err)
		}
	}
	if piped {
		logs.size = 0
	}
	if len(faults) > 0 {
		logs.close()
		return nil, errors.Join(faults...)
	}
	return logs, nil
}

func (l *openedLogs) open(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: no such file: check the name", path)
	}
	if err != nil {
		return err
	}
	l.files = append(l.files, f)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s: this is a directory: name the logs in it, such as %s/access.log", path, path)
	}
	l.size += info.Size()
	l.logs = append(l.logs, replay.Log{Name: path, Reader: f})
	return nil
}

// of returns the logs, counted by bar.
func (l *openedLogs) of(bar *progress) []replay.Log {
	for i := range l.logs {
		l.logs[i].Reader = bar.reader(l.logs[i].Reader)
	}
	return l.logs
}

func (l *openedLogs) close() {
	for _, f := range l.files {
		_ = f.Close() // It was only read.
	}
}

// writeJSON writes one object.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
