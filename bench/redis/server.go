package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// patience is how long a server may take to start, to answer or to end.
const patience = 10 * time.Second

// server is one redis-server that this program has started.
type server struct {
	addr  string
	bus   string // the port for the other nodes of a cluster
	cmd   *exec.Cmd
	dir   string
	said  *bytes.Buffer // what it logs; to be read after it has ended
	admin *goredis.Client
}

// startServer starts a server that keeps nothing on disk, on a free port of the
// loopback. It ends with this program at the latest.
func startServer(args ...string) (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("there is no redis-server here: install it, for example by apt-get install redis-server")
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	s := &server{addr: addr, dir: dir, said: new(bytes.Buffer)}
	s.cmd = exec.Command(path, append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no",
	}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.admin = goredis.NewClient(&goredis.Options{Addr: addr, PoolSize: 1, DialTimeout: patience, ReadTimeout: patience})
	return s, s.ready()
}

// ready waits until the server answers. If it does not it is ended.
func (s *server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := s.admin.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			s.stop()
			return fmt.Errorf("redis-server on %s does not answer: %w: %s", s.addr, err, s.said)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// stop ends the process, asked first and made after three seconds.
func (s *server) stop() {
	s.admin.Close()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(3*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait()
	os.RemoveAll(s.dir)
}

// do sends a command.
func (s *server) do(args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 6*patience)
	defer cancel()
	if err := s.admin.Do(ctx, args...).Err(); err != nil {
		return fmt.Errorf("%v: %w", args, err)
	}
	return nil
}

// info is INFO ALL.
func (s *server) info() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.admin.Info(ctx, "all").Result()
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
