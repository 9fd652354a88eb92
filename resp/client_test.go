package resp_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/stint-dev/stint/resp"
)

// redisCLI runs redis-cli against a server.
func redisCLI(t *testing.T, addr, stdin string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Fatal("redis-cli is missing: apt-get install redis-server (it comes with redis-tools)")
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"-h", "127.0.0.1", "-p", port}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

func TestRedisCLI(t *testing.T) {
	clock := newClock()
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, clock)})
	want(t, "CL.THROTTLE", redisCLI(t, addr, "", "CL.THROTTLE", "user123", "15", "30", "60", "1"), "0\n16\n15\n-1\n2\n")
	want(t, "over the limit", redisCLI(t, addr, "", "CL.THROTTLE", "user123", "15", "30", "60", "16"), "1\n16\n15\n2\n2\n")
	want(t, "RESP3", redisCLI(t, addr, "", "-3", "CL.THROTTLE", "user123", "15", "30", "60"), "0\n16\n14\n-1\n4\n")
	want(t, "as people see it", redisCLI(t, addr, "", "--no-raw", "CL.THROTTLE", "user123", "15", "30", "60"),
		"1) (integer) 0\n2) (integer) 16\n3) (integer) 13\n4) (integer) -1\n5) (integer) 6\n")
	want(t, "PING", redisCLI(t, addr, "", "PING"), "PONG\n")
	want(t, "session", redisCLI(t, addr, "PING\nCL.THROTTLE x 0 1 10\nCL.THROTTLE x 0 1 10\n"), "PONG\n0\n1\n0\n-1\n10\n1\n1\n0\n10\n10\n")
	want(t, "errors", redisCLI(t, addr, "", "CL.THROTTLE", "x", "0", "0", "10"),
		"ERR count '0' is not an integer or out of range: write 1 to 4503599627370496\n\n")
	if piped := redisCLI(t, addr, strings.Repeat("CL.THROTTLE y 15 30 60\r\n", 10_000), "--pipe"); !strings.Contains(piped, "errors: 0, replies: 10000") {
		t.Errorf("--pipe: %s", piped)
	}
}

func TestRedisCLIWithAPassword(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, newClock()), Password: "open sesame"})
	want(t, "no password", redisCLI(t, addr, "", "PING"), "NOAUTH Authentication required.\n\n")
	want(t, "password", redisCLI(t, addr, "", "--no-auth-warning", "-a", "open sesame", "PING"), "PONG\n")
	want(t, "user", redisCLI(t, addr, "", "--no-auth-warning", "--user", "default", "--pass", "open sesame", "PING"), "PONG\n")
}

// TestRueidis connects as the library does by default: RESP3, with tracking for its
// cache, and everything in pipelines.
func TestRueidis(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, newClock()), Password: "open sesame"})
	for _, resp2 := range []bool{false, true} {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{addr}, Password: "open sesame", ClientName: "orders", AlwaysRESP2: resp2, DisableCache: resp2,
		})
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("user%v", resp2)
		var commands rueidis.Commands
		for range 17 {
			commands = append(commands, client.B().ClThrottle().Key(key).MaxBurst(15).CountPerPeriod(30).Period(60).Quantity(1).Build())
		}
		for i, r := range client.DoMulti(t.Context(), commands...) {
			got, err := r.AsIntSlice()
			answer := []int64{0, 16, int64(15 - i), -1, int64(2*i + 2)}
			if i == 16 {
				answer = []int64{1, 16, 0, 2, 32}
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(answer) {
				t.Errorf("RESP2 %v, call %d: %v %v, want %v", resp2, i+1, got, err, answer)
			}
		}
		client.Close()
	}
}

func TestUnixSocket(t *testing.T) {
	s, err := resp.New(resp.Options{Limiter: newLimiter(t, newClock())})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "resp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, conn)
	want(t, "CL.THROTTLE", c.ask("CL.THROTTLE k 15 30 60"), "[0 16 15 -1 2]")
	conn.Close()
	_ = s.Close()
	if err := <-done; !errors.Is(err, resp.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
}
