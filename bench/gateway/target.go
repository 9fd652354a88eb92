package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// target is a server to load.
type target struct {
	name string
	addr string
	pid  int // 0 for the upstream, which is in this process
	stop func()
	said *bytes.Buffer // its standard error; to be read after stop
}

// errAbsent says that a program is not on this machine.
var errAbsent = errors.New("not installed")

// startSelf runs this program as a proxy.
func startSelf(name, kind, upstream string) (target, error) {
	self, err := os.Executable()
	if err != nil {
		return target{}, err
	}
	cmd := exec.Command(self, "-serve", kind, "-upstream", upstream)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return target{}, err
	}
	t, err := start(name, cmd)
	if err != nil {
		return t, err
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	t.addr = strings.TrimSpace(addr)
	return t.ready(err)
}

// startNginx runs nginx with a folder and a port of its own.
func startNginx(folder, upstream string) (target, error) {
	program := findNginx()
	if program == "" {
		return target{}, errAbsent
	}
	addr, err := freeAddr()
	if err != nil {
		return target{}, err
	}
	file := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, nginxFile, upstream, addr), 0o600); err != nil {
		return target{}, err
	}
	t, err := start(nginx, exec.Command(program, "-p", folder, "-c", file, "-e", "error.log"))
	t.addr = addr
	return t.ready(err)
}

func findNginx() string {
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// startCommand runs the stint command.
func startCommand(folder, program, upstream string) (target, error) {
	if _, err := os.Stat(program); err != nil {
		return target{}, errAbsent
	}
	addr, err := freeAddr()
	if err != nil {
		return target{}, err
	}
	file := filepath.Join(folder, "stint.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, rulesFile, addr, upstream), 0o600); err != nil {
		return target{}, err
	}
	t, err := start(command, exec.Command(program, "serve", "-c", file))
	t.addr = addr
	return t.ready(err)
}

// start runs a server that ends with this program at the latest.
func start(name string, cmd *exec.Cmd) (target, error) {
	said := new(bytes.Buffer)
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return target{}, fmt.Errorf("%s: %w", name, err)
	}
	return target{name: name, pid: cmd.Process.Pid, said: said, stop: func() { end(cmd) }}, nil
}

// end asks a server to end, and makes it after three seconds.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(3*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()
}

// ready waits until t answers. On an error it ends t.
func (t target) ready(err error) (target, error) {
	for range 100 {
		if err != nil {
			break
		}
		var c net.Conn
		if c, err = net.DialTimeout("tcp", t.addr, time.Second); err == nil {
			c.Close()
			return t, nil
		}
		time.Sleep(50 * time.Millisecond)
		if _, refused := errors.AsType[*net.OpError](err); refused {
			err = nil
		}
	}
	if t.stop != nil {
		t.stop()
	}
	if err == nil {
		err = errors.New("does not answer")
	}
	if t.said != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(t.said.Bytes()))
	}
	return target{}, fmt.Errorf("%s: %w", t.name, err)
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
