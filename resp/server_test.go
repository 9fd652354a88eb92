package resp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint/resp"
)

const (
	throttleWire = "*6\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser123\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n$1\r\n1\r\n"
)

// TestPipelineOfAMillion sends everything before it reads anything.
func TestPipelineOfAMillion(t *testing.T) {
	const piece = 1000
	total := 1_000_000
	if resp.RaceEnabled {
		total /= 5
	}
	s, addr := serve(t, resp.Options{Limiter: newLimiter(t, newClock())})
	c := dial(t, addr)
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	for range total / piece {
		c.write(strings.Repeat(throttleWire, piece))
	}
	runtime.ReadMemStats(&during)
	if grown := int64(during.HeapInuse) - int64(before.HeapInuse); grown > 3*resp.DefaultMaxPending {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	for i := range 16 {
		want(t, "answer", c.answer(), fmt.Sprintf("[0 16 %d -1 %d]", 15-i, 2*i+2))
	}
	refusals := bytes.Repeat([]byte("*5\r\n:1\r\n:16\r\n:0\r\n:2\r\n:32\r\n"), 16)
	got := make([]byte, len(refusals))
	for i := range (total - 16) / 16 {
		if _, err := io.ReadFull(c.r, got); err != nil || !bytes.Equal(got, refusals) {
			t.Fatalf("answers from %d on: %q %v", 16*i+16, got, err)
		}
	}
	for resp.Pending(s) != 0 { // The last of it is counted down after it was sent.
		runtime.Gosched()
	}
}

// TestUnreadAnswersAreBounded: beyond the bound no more is read from a client.
func TestUnreadAnswersAreBounded(t *testing.T) {
	s, addr := serve(t, resp.Options{Limiter: newLimiter(t, newClock()), MaxPending: 64 << 10, WriteTimeout: 300 * time.Millisecond})
	c := dial(t, addr)
	batch := strings.Repeat(throttleWire, 1000)
	sent := 0
	var err error
	for err == nil && sent < 4_000_000 {
		_, err = io.WriteString(c.conn, batch)
		sent += 1000
		if pending := resp.Pending(s); pending > 128<<10 {
			t.Fatalf("%d bytes pending", pending)
		}
	}
	if err == nil {
		t.Errorf("%d commands were taken from a client that reads nothing", sent)
	}
	want(t, "another client", dial(t, addr).ask("PING"), "PONG")
}

func TestBadInputIsAnsweredAndEnds(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil)})
	for in, answer := range map[string]string{
		"*1\r\n$999999999\r\n" + strings.Repeat("x", 100_000): "-ERR Protocol error: invalid bulk length",
		"*x\r\n": "-ERR Protocol error: invalid multibulk length",
		"*1\r\n$1\r\na" + strings.Repeat("x", 100_000): "-ERR Protocol error: no line end behind a bulk string",
		"PING \"\r\n":                "-ERR Protocol error: unbalanced quotes in request",
		strings.Repeat("a", 100_000): "-ERR Protocol error: too big inline request",
	} {
		c := dial(t, addr)
		c.write(in)
		want(t, fmt.Sprintf("%.20q", in), c.answer(), answer)
		if !c.gone() {
			t.Errorf("%.20q: the connection is open", in)
		}
	}
}

func TestAnswersBeforeAnErrorArrive(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil)})
	c := dial(t, addr)
	c.write(wire("PING") + wire("ECHO", "a") + "*1\r\n!")
	want(t, "first", c.answer(), "PONG")
	want(t, "second", c.answer(), "a")
	want(t, "error", c.answer(), "-ERR Protocol error: expected '$', got '!'")
}

func TestClientThatClosesItsHalfGetsItsAnswers(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil)})
	c := dial(t, addr)
	c.write(strings.Repeat(wire("PING"), 5000) + "*1\r\n$4\r\nPI")
	if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		want(t, "PING", c.answer(), "PONG")
	}
	if !c.gone() {
		t.Error("the connection is open")
	}
}

func TestPageInABrowserCanNotAsk(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, newClock())})
	c := dial(t, addr)
	c.write("POST / HTTP/1.1\r\nHost: localhost\r\n\r\nCL.THROTTLE k 0 1 60\r\n")
	if _, err := io.ReadAll(c.r); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	want(t, "k", dial(t, addr).ask("CL.THROTTLE k 0 1 60"), "[0 1 0 -1 60]")
}

func TestConnectionsAreBounded(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil), MaxConns: 2})
	a, b := dial(t, addr), dial(t, addr)
	want(t, "a", a.ask("PING"), "PONG")
	want(t, "b", b.ask("PING"), "PONG")
	c := dial(t, addr)
	want(t, "c", c.answer(), "-ERR max number of clients reached")
	want(t, "a", a.ask("QUIT"), "OK")
	if !a.gone() {
		t.Error("a is open")
	}
	for { // The place of a is free a moment after it sees the end.
		d := dial(t, addr)
		d.write(wire("PING"))
		if got, err := d.read(); err == nil && got == "PONG" {
			return
		}
	}
}

func TestSilentClientIsClosed(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil), IdleTimeout: 50 * time.Millisecond})
	c := dial(t, addr)
	want(t, "PING", c.ask("PING"), "PONG")
	if !c.gone() {
		t.Error("the connection is open")
	}
}

// TestSlowCommandIsClosed: bytes that trickle in do not prolong a command's time.
func TestSlowCommandIsClosed(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil), CommandTimeout: 100 * time.Millisecond, IdleTimeout: -1})
	c := dial(t, addr)
	began := time.Now()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 1000 {
			if _, err := io.WriteString(c.conn, "a"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond) // The client is slow; the test waits for its end only.
		}
	}()
	_, err := c.r.ReadByte()
	if took := time.Since(began); err == nil || took > 5*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	c.conn.Close()
	<-ended
}

// TestCommandsInPiecesAreNotSlow: a client of which always half a command is there is
// not slow as long as it finishes each in time.
func TestCommandsInPiecesAreNotSlow(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil), CommandTimeout: 200 * time.Millisecond})
	c := dial(t, addr)
	c.write("PI")
	for range 50 {
		time.Sleep(10 * time.Millisecond) // As long as all of them take, twice the time-out and more.
		c.write("NG\r\nPI")
		want(t, "PING", c.answer(), "PONG")
	}
}

func TestShutdownAnswersWhatWasRead(t *testing.T) {
	s, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil)})
	idle, half := dial(t, addr), dial(t, addr)
	want(t, "idle", idle.ask("PING"), "PONG")
	half.write(wire("ECHO", "a") + "*1\r\n$4\r\nPI")
	want(t, "half", half.answer(), "a")
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !idle.gone() || !half.gone() {
		t.Error("a connection is open after Shutdown")
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Error("the port is open after Shutdown")
	}
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	s, addr := serve(t, resp.Options{Limiter: newLimiter(t, newClock())})
	c := dial(t, addr)
	stuck := make(chan struct{})
	go func() {
		defer close(stuck)
		for range 2000 { // More than the sockets hold, and never read.
			if _, err := io.WriteString(c.conn, strings.Repeat(throttleWire, 1000)); err != nil {
				return
			}
			if resp.Pending(s) > 1<<20 {
				return
			}
		}
	}()
	<-stuck
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	l := newLimiter(t, nil)
	for _, o := range []resp.Options{
		{},
		{Limiter: l, MaxConns: -1},
		{Limiter: l, MaxLimits: -1},
		{Limiter: l, Name: strings.Repeat("a", 126)},
		{Limiter: l, OnStoreFailure: "explode"},
		{Limiter: l, WriteTimeout: -1},
	} {
		if _, err := resp.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// BenchmarkPipelined is commands over loopback, 1,000 in a pipeline.
func BenchmarkPipelined(b *testing.B) {
	_, addr := serve(b, resp.Options{Limiter: newLimiter(b, nil)})
	c := dial(b, addr)
	const piece = 1000
	batch := []byte(strings.Repeat("*6\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser123\r\n$1\r\n0\r\n$1\r\n1\r\n$4\r\n6000\r\n$1\r\n1\r\n", piece))
	if got := c.ask("CL.THROTTLE user123 0 1 6000 1"); !strings.HasPrefix(got, "[0 ") {
		b.Fatal(got)
	}
	answers := make([]byte, piece*len("*5\r\n:1\r\n:1\r\n:0\r\n:6000\r\n:6000\r\n"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.conn.Write(batch); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c.r, answers); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*piece/b.Elapsed().Seconds(), "commands/s")
}

// BenchmarkOneByOne is commands over loopback, each after the answer to the last.
func BenchmarkOneByOne(b *testing.B) {
	_, addr := serve(b, resp.Options{Limiter: newLimiter(b, nil)})
	c := dial(b, addr)
	for b.Loop() {
		c.write(throttleWire)
		if _, err := c.read(); err != nil {
			b.Fatal(err)
		}
	}
}
