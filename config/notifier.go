package config

import (
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// notifier tells that something happened in the directories of some files. It
// watches directories, since a file that is replaced is another file.
type notifier struct {
	watcher *fsnotify.Watcher // nil where there is none
	dirs    map[string]bool
	signs   chan struct{}
	done    chan struct{}
}

// newNotifier returns a notifier, a deaf one where the system is not to be asked
// or does not answer.
func newNotifier(deaf bool) *notifier {
	n := &notifier{dirs: make(map[string]bool)}
	if deaf {
		return n
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return n
	}
	n.watcher = w
	n.signs, n.done = make(chan struct{}, 1), make(chan struct{})
	go n.listen()
	return n
}

// listen makes one sign of any number of events. A lost event is a sign too.
func (n *notifier) listen() {
	defer close(n.done)
	events, errs := n.watcher.Events, n.watcher.Errors
	for events != nil || errs != nil {
		select {
		case _, ok := <-events:
			if !ok {
				events = nil
				continue
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
		}
		select {
		case n.signs <- struct{}{}:
		default:
		}
	}
}

// changed has a value after something happened; it is nil where nobody tells.
func (n *notifier) changed() <-chan struct{} { return n.signs }

// watch watches the directories that decide what files hold: those of the names,
// and of every link on the way. It says whether one was not watched before: what
// happened there until now went unnoticed.
func (n *notifier) watch(files []string) (more bool) {
	if n.watcher == nil {
		return false
	}
	want := make(map[string]bool)
	for _, f := range files {
		follow(f, want)
	}
	for dir := range want {
		// Adding again is free, and finds a directory that was made anew.
		if n.watcher.Add(dir) != nil {
			delete(want, dir)
		}
		more = more || want[dir] && !n.dirs[dir]
	}
	for dir := range n.dirs {
		if !want[dir] {
			_ = n.watcher.Remove(dir) // It may be gone.
		}
	}
	n.dirs = want
	return more
}

// maxLinks is how many links in a row are followed.
const maxLinks = 40

// follow adds the directories that decide what path holds. A link in the middle
// of a path counts as well: each is a name in a directory of its own.
func follow(path string, dirs map[string]bool) {
	for range maxLinks {
		path = filepath.Clean(path)
		dirs[filepath.Dir(path)] = true
		link, at := firstLink(path)
		if at == "" {
			return
		}
		dirs[filepath.Dir(at)] = true
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(at), link)
		}
		path = link + path[len(at):]
	}
}

// firstLink returns the first part of path that is a link, and what it says.
func firstLink(path string) (link, at string) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && !os.IsPathSeparator(path[i]) {
			continue
		}
		if link, err := os.Readlink(path[:i]); err == nil {
			return link, path[:i]
		}
	}
	return "", ""
}

// close ends the notifier and what it started.
func (n *notifier) close() {
	if n.watcher == nil {
		return
	}
	_ = n.watcher.Close() // Nothing can be done about it.
	<-n.done
}
