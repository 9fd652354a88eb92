package redisstore_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// workerEnv makes the test binary a server of its own, on the Redis of this
// address.
const workerEnv = "STINT_TEST_WORKER"

// A worker reads the number of an algorithm and a key from each line, sends 15
// requests for it, and writes how many passed.
func work(addr string) {
	store, err := redisstore.New(patient(redisstore.Options{Addrs: []string{addr}}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	c := &client{store: store}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		number, key, _ := strings.Cut(in.Text(), " ")
		i, _ := strconv.Atoi(number)
		fmt.Println(workOn(c, i, key))
	}
}

func workOn(c *client, i int, key string) (passed int, err error) {
	l := stint.Limit{Count: 10, Window: 3600e9}
	if i == 0 {
		l.Burst = 6 // and four may wait
	}
	p, err := stint.NewPolicy(every[i].Name(), l, every[i])
	if err != nil {
		return 0, err
	}
	for range 15 {
		v, err := c.try(p, key, 1)
		if err != nil {
			return passed, err
		}
		if v.OK {
			passed++
		}
	}
	return passed, nil
}

// worker is a process that works.
type worker struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

func startWorker(t *testing.T, addr string) *worker {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"="+addr)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return &worker{in: in, out: bufio.NewScanner(out)}
}

// TestC136FourProcesses: 60 requests of four processes on a bucket of 10, a
// hundred times for each algorithm.
func TestC136FourProcesses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var workers []*worker
	for range 4 {
		workers = append(workers, startWorker(t, server.Addr))
	}
	for i, a := range every {
		for round := range 100 {
			for _, w := range workers {
				fmt.Fprintln(w.in, i, round)
			}
			passed := 0
			for _, w := range workers {
				if !w.out.Scan() {
					t.Fatal("a worker has ended")
				}
				n, err := strconv.Atoi(strings.TrimSuffix(w.out.Text(), " <nil>"))
				if err != nil {
					t.Fatal(w.out.Text())
				}
				passed += n
			}
			if passed != 10 {
				t.Fatalf("%s, round %d: %d of 60 passed, want 10", a.Name(), round, passed)
			}
		}
	}
}
