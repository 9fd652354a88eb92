package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

// held is what a process holds that has one limiter and its buckets.
type held struct {
	// Heap and RSS are bytes for each bucket: of live objects, and of memory that
	// the operating system counts as the process', both above what they were before.
	Heap, RSS float64
	// Collect is the time of a full collection, Empty the time of one before.
	Collect, Empty time.Duration
}

// residentTable fills each limiter in a process of its own.
func residentTable(w io.Writer, keys int) ([]measure.Goal, error) {
	t := measure.NewTable("limiter", "keys", "heap B/bucket", "RSS B/bucket", "full collection ms", "before ms")
	var goals []measure.Goal
	for _, e := range field.Entries() {
		if !e.Keyed {
			continue
		}
		h, err := measureHeld(e.Name, keys)
		if err != nil {
			return nil, err
		}
		heldRow(t, e.Name, keys, h)
	}
	h, err := measureHeld(field.Stint, 10*keys)
	if err != nil {
		return nil, err
	}
	heldRow(t, field.Stint, 10*keys, h)
	goals = append(goals,
		measure.Goal{What: fmt.Sprintf("resident for each of %d buckets", 10*keys), Want: 64, Got: h.RSS, Unit: " B"},
		measure.Goal{What: "full collection then", Want: 5, Got: millis(h.Collect), Unit: " ms"})
	t.Write(w, "What live buckets hold, each limiter in a process of its own")
	return goals, nil
}

func heldRow(t *measure.Table, name string, keys int, h held) {
	t.Row(name, strconv.Itoa(keys), measure.Num(h.Heap), measure.Num(h.RSS), measure.Num(millis(h.Collect)), measure.Num(millis(h.Empty)))
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// measureHeld runs this program again, only to fill one limiter.
func measureHeld(name string, keys int) (held, error) {
	var h held
	self, err := os.Executable()
	if err != nil {
		return h, err
	}
	cmd := exec.Command(self, "-resident", name, "-keys", strconv.Itoa(keys))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return h, fmt.Errorf("filling %s: %w", name, err)
	}
	return h, json.Unmarshal(out, &h)
}

// report fills one limiter and prints what it holds. Every key is a string of its
// own, so that limiters that keep keys pay for them.
func report(w io.Writer, name string, keys int) error {
	e, ok := field.ByName(name)
	if !ok {
		return fmt.Errorf("no limiter is called %q", name)
	}
	l := e.Open(slow)
	defer l.Close()
	l.Allow("first")
	h := held{Empty: collect()}
	heap, rss, err := footprint()
	if err != nil {
		return err
	}
	for i := range keys {
		if !l.Allow("198.51.100." + strconv.Itoa(i)) {
			return fmt.Errorf("%s refuses new key %d", name, i)
		}
	}
	h.Collect = collect()
	heapAfter, rssAfter, err := footprint()
	if err != nil {
		return err
	}
	h.Heap = (heapAfter - heap) / float64(keys)
	h.RSS = (rssAfter - rss) / float64(keys)
	runtime.KeepAlive(l)
	return json.NewEncoder(w).Encode(h)
}

// collect is the median time of some full collections, one after the other.
func collect() time.Duration {
	runtime.GC()
	var times []float64
	for range 9 {
		start := time.Now()
		runtime.GC()
		times = append(times, float64(time.Since(start)))
	}
	return time.Duration(measure.Median(times))
}

// footprint returns bytes of live objects and resident bytes, after free memory
// has gone back to the operating system.
func footprint() (heap, rss float64, err error) {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, 0, fmt.Errorf("/proc/self/statm says %q", text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return float64(m.HeapAlloc), float64(pages * int64(os.Getpagesize())), err
}
