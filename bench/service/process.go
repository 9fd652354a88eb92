package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// target is a server in a process of its own.
type target struct {
	name string
	addr string // of what the process serves; of stint's the first
	pid  int
	said *bytes.Buffer // what it says; to be read after it has ended
	cmd  *exec.Cmd
}

// errAbsent says that a program is not on this machine.
var errAbsent = errors.New("not installed")

// pinned makes the collectors of all Go servers alike, whatever the environment
// says.
var pinned = []string{"GOGC=100", "GOMEMLIMIT=off", "GODEBUG="}

// start runs a server that ends with this program at the latest, and waits until
// it answers at addr. With an empty addr it is the one that the server prints.
func (b *bench) start(name, addr string, cmd *exec.Cmd) (target, error) {
	t := target{name: name, addr: addr, cmd: cmd, said: new(bytes.Buffer)}
	cmd.Env = append(append(os.Environ(), pinned...), cmd.Env...)
	cmd.Stderr = t.said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	var out io.Reader
	if addr == "" {
		if out, err = cmd.StdoutPipe(); err != nil {
			return target{}, err
		}
	}
	if err := cmd.Start(); err != nil {
		return target{}, fmt.Errorf("%s: %w", name, err)
	}
	t.pid = cmd.Process.Pid
	b.started = append(b.started, t)
	if out == nil {
		return t, t.ready()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return target{}, fmt.Errorf("%s says no address: %w", name, err)
	}
	t.addr = strings.TrimSpace(line)
	b.started[len(b.started)-1] = t
	return t, t.ready()
}

// patience is how long a server may take to start.
const patience = 10 * time.Second

// ready waits until t accepts a connection.
func (t target) ready() error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", t.addr, time.Second)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not answer: %w", t.name, err)
		}
	}
}

// stop ends all servers, asked first and made after three seconds.
func (b *bench) stop() {
	for _, t := range b.started {
		_ = t.cmd.Process.Signal(syscall.SIGTERM)
	}
	for _, t := range b.started {
		late := time.AfterFunc(3*time.Second, func() { _ = t.cmd.Process.Kill() })
		_ = t.cmd.Wait()
		late.Stop()
	}
	b.started = nil
}

// fallen ends all servers and returns what they said, for the reader of an error.
func (b *bench) fallen() error {
	all := b.started
	b.stop()
	var errs []error
	for _, t := range all {
		if text := bytes.TrimSpace(t.said.Bytes()); len(text) > 0 {
			errs = append(errs, fmt.Errorf("%s said: %s", t.name, text[max(0, len(text)-500):]))
		}
	}
	return errors.Join(errs...)
}

// find returns a server that runs already.
func (b *bench) find(name string) (target, bool) {
	for _, t := range b.started {
		if t.name == name {
			return t, true
		}
	}
	return target{}, false
}

// freeAddr is an address that nobody listened on just now.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
