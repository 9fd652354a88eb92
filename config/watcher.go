package config

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint/rules"
)

// How long a watcher waits by itself.
const (
	settleTime  = 100 * time.Millisecond // after the last sign of a change
	settleMost  = time.Second            // after the first
	defaultPoll = 2 * time.Second
)

// WatchOptions say what a [Watcher] does with what it reads.
type WatchOptions struct {
	// Options are those of Load.
	Options
	// Loaded gets each file that was read and is good, one call after the other.
	Loaded func(*File)
	// Failed gets the error of each file that is not good, or that is not there.
	// The file loaded before stays the last good one.
	Failed func(error)
	// Interval is how often the files' times and sizes are looked at, besides what
	// the system tells: network file systems tell nothing. 0 means two seconds.
	Interval time.Duration
	// Poll does not ask the system to tell.
	Poll bool
	// NoSpec leaves a file's Spec empty once its Set is compiled. A server needs no
	// more than that, and the Spec takes about as much memory again.
	NoSpec bool
}

// Watcher reads a rules file again when it changes, or the CSV file of plans that
// it names: when an editor writes it or puts another one in its place, when
// Kubernetes swaps the links of a mounted directory, when it was gone and is back.
// What did not change is not reported again. It is safe for concurrent use.
type Watcher struct {
	path    string
	options WatchOptions

	last atomic.Pointer[File]
	mu   sync.Mutex // held while a file is read and reported
	seen []source
}

// NewWatcher returns a watcher of the file at path. It reads nothing yet: the
// first call of [Watcher.Reload] does, and [Watcher.Run] if there was none.
func NewWatcher(path string, o WatchOptions) *Watcher {
	if o.Interval <= 0 {
		o.Interval = defaultPoll
	}
	return &Watcher{path: path, options: o}
}

// Last returns the last good file, nil before there was one.
func (w *Watcher) Last() *File { return w.last.Load() }

// Reload reads the files now, changed or not, and reports to Loaded or Failed
// before it returns. Its errors are [Errors]. It must not be called from Loaded
// or Failed.
func (w *Watcher) Reload() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reload()
}

// reload is Reload with mu held.
func (w *Watcher) reload() error {
	f, seen, err := load(w.path, w.options.Options)
	w.seen = seen
	if err != nil {
		if w.options.Failed != nil {
			w.options.Failed(err)
		}
		return err
	}
	if w.options.NoSpec {
		f.Spec = rules.Spec{}
	}
	w.last.Store(f)
	if w.options.Loaded != nil {
		w.options.Loaded(f)
	}
	return nil
}

// check reloads if a file has changed since it was last read.
func (w *Watcher) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh := make([]source, len(w.seen))
	same := len(w.seen) > 0
	for i := 0; i < len(w.seen) && same; i++ {
		fresh[i] = w.seen[i].again()
		same = fresh[i].sum == w.seen[i].sum
	}
	if same {
		w.seen = fresh
		return
	}
	_ = w.reload() // Failed was told.
}

// looksChanged says whether times, sizes or places of the files may have changed
// since they were read.
func (w *Watcher) looksChanged() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.seen, source.looksChanged)
}

// files are the files that were read last, or were to be read.
func (w *Watcher) files() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	paths := []string{w.path}
	for _, s := range w.seen {
		if !slices.Contains(paths, s.path) {
			paths = append(paths, s.path)
		}
	}
	return paths
}

// Run watches until ctx ends, and returns when all it started has ended. A change
// is read a tenth of a second after the last sign of it, so that a file written in
// pieces is read once.
func (w *Watcher) Run(ctx context.Context) {
	n := newNotifier(w.options.Poll)
	defer n.close()
	poll := time.NewTicker(w.options.Interval)
	defer poll.Stop()
	settle := time.NewTimer(0)
	defer settle.Stop()
	var first time.Time // when the change that is not read yet was first noticed
	n.watch(w.files())
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.changed():
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			settle.Reset(min(settleTime, max(0, settleMost-now.Sub(first))))
		case <-settle.C:
			first = time.Time{}
			w.check()
			if n.watch(w.files()) {
				settle.Reset(settleTime)
			}
		case <-poll.C:
			if w.looksChanged() {
				w.check()
				if n.watch(w.files()) {
					settle.Reset(settleTime)
				}
			}
		}
	}
}
