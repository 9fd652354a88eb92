// Package redistest starts real Redis servers for tests, on free ports of the
// loopback address, and ends them with the test.
package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a server may take to start, to end or to answer.
const patience = 10 * time.Second

// Server is one process of redis-server.
type Server struct {
	// Addr is host:port. It stays the same when the server is restarted.
	Addr string
	// Socket is the path of its unix socket.
	Socket string

	t        testing.TB
	dir      string
	args     []string
	bus      string // the port by which the nodes of a cluster talk
	sentinel string // the configuration of a Sentinel
	cmd      *exec.Cmd
	ended    chan struct{}
}

// Start starts a server without persistence and returns when it answers. Each
// argument pair is a setting as in redis.conf, such as "--maxmemory", "3mb". The
// test ends if there is no redis-server on this machine.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // short enough for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{Addr: FreeAddr(t), Socket: filepath.Join(dir, "s"), t: t, dir: dir, args: args}
	t.Cleanup(s.Kill)
	s.start()
	return s
}

// FreeAddr returns an address on the loopback that nobody listens on. Its port is
// none of those that the system gives to whoever asks for any, and it is kept for
// this test until that ends, also from tests of other processes: who starts a server
// again finds it free. What keeps it is a socket of another protocol.
func FreeAddr(t testing.TB) string {
	t.Helper()
	var err error
	for range 1000 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(22_000)))
		var kept net.PacketConn
		if kept, err = net.ListenPacket("udp", addr); err != nil {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err != nil {
			kept.Close()
			continue
		}
		l.Close()
		t.Cleanup(func() { kept.Close() })
		return addr
	}
	t.Fatal(err)
	return ""
}

// Port is the port of Addr.
func (s *Server) Port() string {
	_, port, _ := net.SplitHostPort(s.Addr)
	return port
}

// Dir is where the server keeps its files.
func (s *Server) Dir() string { return s.dir }

func (s *Server) start() {
	s.t.Helper()
	s.begin()
	s.awaitAnswer()
}

// begin starts the process.
func (s *Server) begin() {
	s.t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatal("these tests need redis-server: install it, for example by apt-get install redis-server")
	}
	args := append([]string{
		"--port", s.Port(), "--bind", "127.0.0.1", "--dir", s.dir, "--unixsocket", s.Socket,
		"--save", "", "--appendonly", "no", "--logfile", filepath.Join(s.dir, "log"), "--daemonize", "no",
		"--repl-diskless-sync-delay", "0",
	}, s.args...)
	if s.sentinel != "" {
		args = []string{s.sentinel, "--sentinel"}
	}
	s.cmd = exec.Command(path, args...)
	s.cmd.SysProcAttr = dieWithUs()
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(s.cmd, s.ended)
}

// awaitAnswer waits until the server answers at all, be it with an error.
func (s *Server) awaitAnswer() {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-s.ended:
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.t.Fatalf("redis-server ended at once:\n%s", text)
		default:
		}
		_, err := s.ask("PING")
		if refusal := refusal(""); err == nil || errors.As(err, &refusal) && !strings.HasPrefix(string(refusal), "LOADING") {
			return
		}
	}
	s.t.Fatalf("redis-server on %s does not answer", s.Addr)
}

// AwaitMaster waits until a replica has all that its master has done so far.
func (s *Server) AwaitMaster() {
	s.t.Helper()
	told := int64(-1)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		now := s.Info("replication")
		if told < 0 && now["master_link_status"] == "up" {
			master := &Server{Addr: net.JoinHostPort(now["master_host"], now["master_port"]), t: s.t}
			told, _ = strconv.ParseInt(master.Info("replication")["master_repl_offset"], 10, 64)
		}
		heard, err := strconv.ParseInt(now["slave_repl_offset"], 10, 64)
		if told >= 0 && err == nil && heard >= told {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal("a replica does not follow its master")
		}
	}
}

// Pause stops the process where it is, as SIGSTOP does: connections stay, nobody
// answers.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Stop ends the server in good order. Its address refuses connections then.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	s.await()
}

// Kill ends the server at once, paused or not. It may be ended already.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	s.await()
}

func (s *Server) await() {
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Errorf("redis-server on %s does not end", s.Addr)
	}
}

// Restart starts a server again that has been stopped or killed; one that runs is
// killed first. What it had in memory is lost unless its settings save it.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.start()
}

// Reload starts a server again that has been saved and stopped, and returns while
// it still reads what was saved, which takes about forEach for each key. It has to
// be of Redis 7 or later.
func (s *Server) Reload(forEach time.Duration) {
	s.t.Helper()
	s.Kill()
	args := s.args
	s.args = slices.Concat(args, []string{
		"--key-load-delay", strconv.FormatInt(forEach.Microseconds(), 10), "--loading-process-events-interval-bytes", "1024",
	})
	s.begin()
	s.args = args
	for deadline := time.Now().Add(patience); !s.Loading(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatal("a server does not say that it is loading")
		}
	}
}

// Loading says whether the server answers that it reads what was saved.
func (s *Server) Loading() bool {
	_, err := s.ask("PING")
	return err != nil && strings.HasPrefix(err.Error(), "LOADING")
}

// Do sends a command and returns the answer as text: that of an array has a line
// for each element. An answer that is an error fails the test.
func (s *Server) Do(args ...string) string {
	s.t.Helper()
	answer, err := s.ask(args...)
	if err != nil {
		s.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return answer
}

// Info returns the fields of a section of INFO.
func (s *Server) Info(section string) map[string]string {
	s.t.Helper()
	fields := make(map[string]string)
	for line := range strings.Lines(s.Do("INFO", section)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// Calls returns how often a command was called since the last CONFIG RESETSTAT.
func (s *Server) Calls(command string) int {
	s.t.Helper()
	stats := s.Info("commandstats")["cmdstat_"+command]
	calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
	n, _ := strconv.Atoi(calls)
	return n
}

// Keys returns all keys, of the database with this number.
func (s *Server) Keys(db int) []string {
	s.t.Helper()
	c := s.dial()
	defer c.Close()
	if _, err := c.do("SELECT", strconv.Itoa(db)); err != nil {
		s.t.Fatal(err)
	}
	answer, err := c.all("KEYS", "*")
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

func (s *Server) dial() *conn {
	s.t.Helper()
	c, err := dial(s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *Server) ask(args ...string) (string, error) {
	c, err := dial(s.Addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.do(args...)
}

// refusal is an answer that is an error.
type refusal string

func (r refusal) Error() string { return string(r) }

// conn speaks RESP2. Tests look at what Redis holds without the client under
// test.
type conn struct {
	net.Conn
	in *bufio.Reader
}

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	return &conn{Conn: c, in: bufio.NewReader(c)}, nil
}

func (c *conn) do(args ...string) (string, error) {
	all, err := c.all(args...)
	return strings.Join(all, "\n"), err
}

func (c *conn) all(args ...string) ([]string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := c.Write(b.Bytes()); err != nil {
		return nil, err
	}
	return c.read(nil)
}

// read appends the elements of an answer to all.
func (c *conn) read(all []string) ([]string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	kind, text := line[0], line[1:]
	switch kind {
	case '-':
		return nil, refusal(text)
	case '+', ':':
		return append(all, text), nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return append(all, ""), err
	}
	if kind == '$' {
		body := make([]byte, n+2)
		if _, err := io.ReadFull(c.in, body); err != nil {
			return nil, err
		}
		return append(all, string(body[:n])), nil
	}
	for range n {
		if all, err = c.read(all); err != nil {
			return nil, err
		}
	}
	return all, nil
}
