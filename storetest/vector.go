package storetest

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

//go:embed vectors/*.txt
var files embed.FS

// Vector is a ledger: requests to one bucket, and what they must get. Its form is
// told at the head of vectors/token_bucket.txt.
type Vector struct {
	Algorithm string
	Name      string
	Steps     []Step
}

// Step is one line of a ledger: a limit from there on, or a request.
type Step struct {
	Line int
	// Policy, if set, is the limit from here on, and there is no request.
	Policy *stint.Policy
	At     stint.Micros
	// Times is how often the request is repeated, each Every after the one before.
	Times int
	Every stint.Micros
	stint.Ask
	OK bool
	// Want is what else must be so, by name: remaining, and in microseconds retry,
	// reset, next and delay. It has one number for each time, or the last one's.
	Want map[string][]int64
}

// Vectors returns the ledgers of all algorithms.
func Vectors() ([]Vector, error) {
	names, err := fs.Glob(files, "vectors/*.txt")
	if err != nil {
		return nil, err
	}
	var all []Vector
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		vectors, err := ParseVectors(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s:%w", name, err)
		}
		all = append(all, vectors...)
	}
	return all, nil
}

// runVectors plays each ledger on a bucket of its own.
func runVectors(t *testing.T, open func(t *testing.T) stint.Store) {
	vectors, err := Vectors()
	if err != nil {
		t.Fatal(err)
	}
	store := open(t)
	for _, v := range vectors {
		t.Run(v.Algorithm+"/"+v.Name, func(t *testing.T) { v.Play(t, store) })
	}
}

// Play sends the ledger's requests to store.
func (v *Vector) Play(t *testing.T, store stint.Store) {
	t.Helper()
	var p *stint.Policy
	for _, s := range v.Steps {
		if s.Policy != nil {
			p = s.Policy
			continue
		}
		for i := range s.Times {
			c := stint.Charge{Policy: p, Key: []byte("key"), Ask: s.Ask}
			var said [1]stint.Verdict
			now := s.At + stint.Micros(i)*s.Every
			if _, err := store.Take(context.Background(), now, []stint.Charge{c}, said[:]); err != nil {
				t.Fatalf("line %d: %v", s.Line, err)
			}
			if err := s.check(i, &said[0]); err != nil {
				t.Fatalf("line %d, request %d: %v", s.Line, i+1, err)
			}
		}
	}
}

// check compares the i-th verdict of a step.
func (s *Step) check(i int, v *stint.Verdict) error {
	if v.OK != s.OK {
		return fmt.Errorf("OK %v, want %v: %+v", v.OK, s.OK, *v)
	}
	var errs []error
	for name, want := range s.Want {
		last := i == s.Times-1
		if len(want) == 1 && !last {
			continue
		}
		if got := field(v, name); got != want[min(i, len(want)-1)] {
			errs = append(errs, fmt.Errorf("%s %d, want %d", name, got, want[min(i, len(want)-1)]))
		}
	}
	return errors.Join(errs...)
}

// never stands for [stint.Never] in numbers of microseconds.
const never = -1

// field reads a verdict by the names of a ledger.
func field(v *stint.Verdict, name string) int64 {
	var d time.Duration
	switch name {
	case "remaining":
		return v.Remaining
	case "retry":
		d = v.RetryAfter
	case "reset":
		d = v.ResetAfter
	case "next":
		d = v.NextAfter
	case "delay":
		d = v.Delay
	}
	if d == stint.Never {
		return never
	}
	return d.Microseconds()
}

// reader reads ledgers.
type reader struct {
	vectors   []Vector
	algorithm string
	queue     algo.LeakyQueue
	line      int
}

// ParseVectors reads ledgers. An error begins with the number of its line.
func ParseVectors(text string) ([]Vector, error) {
	var r reader
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		r.line++
		line, _, _ := strings.Cut(lines.Text(), "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if err := r.read(line); err != nil {
			return nil, fmt.Errorf("%d: %q: %w", r.line, line, err)
		}
	}
	return r.vectors, lines.Err()
}

// read reads a line that is not empty.
func (r *reader) read(line string) error {
	head, rest, _ := strings.Cut(line, ":")
	rest = strings.TrimSpace(rest)
	switch head {
	case "algorithm":
		r.algorithm = rest
		return nil
	case "case":
		r.vectors = append(r.vectors, Vector{Algorithm: r.algorithm, Name: rest})
		return nil
	}
	if len(r.vectors) == 0 {
		return errors.New("no case yet")
	}
	v := &r.vectors[len(r.vectors)-1]
	var s Step
	var err error
	switch head {
	case "queue":
		return r.readQueue(rest)
	case "limit":
		s.Policy, err = r.policy(v.Name, rest)
	default:
		if len(v.Steps) == 0 {
			return errors.New("no limit yet")
		}
		s, err = readRequest(line)
	}
	s.Line = r.line
	v.Steps = append(v.Steps, s)
	return err
}

// readQueue reads "max_wait=1.5 max_waiting=10".
func (r *reader) readQueue(text string) error {
	r.queue = algo.LeakyQueue{}
	for word := range strings.FieldsSeq(text) {
		var err error
		switch name, value, _ := strings.Cut(word, "="); name {
		case "max_wait":
			var us int64
			us, err = seconds(value)
			r.queue.MaxWait = time.Duration(us) * time.Microsecond
		case "max_waiting":
			r.queue.MaxWaiting, err = strconv.ParseInt(value, 10, 64)
		default:
			err = errors.New("want max_wait or max_waiting")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// policy compiles a limit for a ledger, whose name is that of its counters.
func (r *reader) policy(name, limit string) (*stint.Policy, error) {
	l, err := stint.ParseLimit(limit)
	if err != nil {
		return nil, err
	}
	var a stint.Algorithm = r.queue
	if r.algorithm != r.queue.Name() {
		known, ok := algo.ByName(r.algorithm)
		if !ok {
			return nil, fmt.Errorf("no algorithm is called %q", r.algorithm)
		}
		a = known
	}
	name = r.algorithm + "/" + name
	return stint.NewPolicy(name[:min(len(name), stint.MaxName)], l, a)
}

// readRequest reads "t=0 times=3 -> allow remaining=2,1,0".
func readRequest(line string) (Step, error) {
	s := Step{Times: 1, Ask: stint.Ask{Cost: 1}, Want: make(map[string][]int64)}
	asked, want, ok := strings.Cut(line, "->")
	if !ok {
		return s, errors.New("no ->")
	}
	for word := range strings.FieldsSeq(asked) {
		if err := s.readAsked(word); err != nil {
			return s, fmt.Errorf("%q: %w", word, err)
		}
	}
	words := strings.Fields(want)
	if len(words) == 0 || words[0] != "allow" && words[0] != "refuse" {
		return s, errors.New("want allow or refuse after ->")
	}
	s.OK = words[0] == "allow"
	for _, word := range words[1:] {
		if err := s.readWant(word); err != nil {
			return s, fmt.Errorf("%q: %w", word, err)
		}
	}
	return s, nil
}

// readAsked reads a word before the arrow.
func (s *Step) readAsked(word string) (err error) {
	name, value, _ := strings.Cut(word, "=")
	var us int64
	switch name {
	case "t":
		us, err = seconds(value)
		s.At = Start + stint.Micros(us)
	case "every":
		us, err = seconds(value)
		s.Every = stint.Micros(us)
	case "times":
		s.Times, err = strconv.Atoi(value)
		if s.Times < 1 || s.Times > 10_000 {
			return errors.New("want 1 to 10000")
		}
	case "cost":
		s.Cost, err = strconv.ParseInt(value, 10, 64)
	case "forced":
		s.Forced = true
	default:
		err = errors.New("want t, cost, forced, times or every")
	}
	return err
}

// readWant reads a word after the arrow.
func (s *Step) readWant(word string) error {
	name, values, _ := strings.Cut(word, "=")
	for value := range strings.SplitSeq(values, ",") {
		var n int64
		var err error
		switch name {
		case "remaining":
			n, err = strconv.ParseInt(value, 10, 64)
		case "retry", "reset", "next", "delay":
			n, err = seconds(value)
		default:
			err = errors.New("want remaining, retry, reset, next or delay")
		}
		if err != nil {
			return err
		}
		s.Want[name] = append(s.Want[name], n)
	}
	if n := len(s.Want[name]); n != 1 && n != s.Times {
		return fmt.Errorf("%d values for %d requests", n, s.Times)
	}
	return nil
}

// seconds reads a decimal number of seconds as microseconds, exactly.
func seconds(s string) (int64, error) {
	if s == "never" {
		return never, nil
	}
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(whole) == 0 || len(whole) > 10 || len(fraction) > 6 || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number of seconds with up to six decimals", s)
	}
	n, err := strconv.ParseInt(whole+(fraction + "000000")[:6], 10, 64)
	if negative {
		n = -n
	}
	return n, err
}
