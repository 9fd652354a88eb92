package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the outputs that scripts compare")

// patience bounds what scripts wait for. Nothing waits so long unless it fails.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stint": main, "http": httpMain})
}

func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	broken, err := filepath.Abs("../../config/testdata/broken")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXAMPLES", examples)
			e.Setenv("BROKEN", broken)
			e.Values["servers"] = new(servers)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": cmdServe, "signal": cmdSignal, "exits": cmdExits, "await": cmdAwait,
			"pad": cmdPad, "occupy": cmdOccupy, "accepted": cmdAccepted, "gzip": cmdGzip,
		},
	})
}

// servers are the servers that a script started; it has one at a time.
type servers struct{ running *exec.Cmd }

// cmdServe starts "stint serve" with its arguments, its output in serve.out and
// serve.err, and waits until it listens. $GATEWAY and $ADMIN are where.
func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	out, err := os.Create(ts.MkAbs("serve.out"))
	ts.Check(err)
	errOut, err := os.Create(ts.MkAbs("serve.err"))
	ts.Check(err)
	cmd := exec.Command(filepath.Join(binDir(ts), "stint"), append([]string{"serve"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), out, errOut
	ts.Check(cmd.Start())
	ts.Check(out.Close())
	ts.Check(errOut.Close())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ts.Value("servers").(*servers).running = cmd
	waitFor(ts, "serve.out", regexp.MustCompile(`counts in memory\n`))
	said := ts.ReadFile("serve.out")
	for name, env := range map[string]string{"gateway": "GATEWAY", "admin": "ADMIN"} {
		if m := regexp.MustCompile(name + ` listens on (\S+:\d+)`).FindStringSubmatch(said); m != nil {
			ts.Setenv(env, "http://"+strings.Replace(m[1], "[::]", "127.0.0.1", 1))
		}
	}
}

// binDir is where the commands of scripts are.
func binDir(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "stint")); err == nil {
			return dir
		}
	}
	ts.Fatalf("no stint in the PATH")
	return ""
}

func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]os.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT}
	ts.Check(ts.Value("servers").(*servers).running.Process.Signal(signals[args[0]]))
}

// cmdExits waits for the server to end with an exit code.
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	cmd := ts.Value("servers").(*servers).running
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		ts.Fatalf("the server does not end")
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("the server ended with %s, want %s: %s", got, args[0], ts.ReadFile("serve.err"))
	}
}

// cmdAwait waits until a file, or what http prints with the arguments after it,
// matches a pattern: await FILE PATTERN, await http PATTERN ARGS.
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile(args[1])
	if args[0] != "http" {
		waitFor(ts, args[0], pattern)
		return
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var out strings.Builder
		_ = fetch(&out, args[2:]) // The next try may do better.
		if pattern.MatchString(out.String()) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%v never answers %q: %s", args[2:], args[1], out.String())
		}
	}
}

func waitFor(ts *testscript.TestScript, file string, pattern *regexp.Regexp) {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(ts.MkAbs(file))
		if pattern.Match(text) {
			return
		}
		if time.Now().After(end) {
			errors, _ := os.ReadFile(ts.MkAbs("serve.err"))
			ts.Fatalf("%s never has %q: %s\n%s", file, pattern, text, errors)
		}
	}
}

// cmdPad appends spaces to a file until it has a size: pad FILE BYTES.
func cmdPad(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := ts.ReadFile(args[0])
	text += "#" + strings.Repeat(" ", max(0, size-len(text)-1))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// cmdGzip packs files: gzip FILE... makes FILE.gz.
func cmdGzip(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		out, err := os.Create(ts.MkAbs(file) + ".gz")
		ts.Check(err)
		w := gzip.NewWriter(out)
		_, err = io.WriteString(w, ts.ReadFile(file))
		ts.Check(errors.Join(err, w.Close(), out.Close()))
	}
}

// cmdOccupy listens on a port, whose address becomes $OCCUPIED.
func cmdOccupy(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv("OCCUPIED", l.Addr().String())
}

// cmdAccepted checks every file of a folder with stint check: accepted EXT DIR,
// or with ! that each is refused with a place in it. Folders called envoy have files
// that others name.
func cmdAccepted(ts *testscript.TestScript, neg bool, args []string) {
	var files []string
	ts.Check(filepath.WalkDir(args[0], func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == "envoy" {
			return filepath.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return err
	}))
	if len(files) < 5 {
		ts.Fatalf("%d files in %s", len(files), args[0])
	}
	for _, file := range files {
		var out, errOut strings.Builder
		code := run([]string{"check", file}, process{in: strings.NewReader(""), out: &out, err: &errOut, env: noEnv})
		if !neg && code != exitOK {
			ts.Fatalf("check %s: %d: %s", file, code, errOut.String())
		}
		if neg && (code != exitFailed || !strings.HasPrefix(errOut.String(), file+":")) {
			ts.Fatalf("check %s: %d: %s", file, code, errOut.String())
		}
	}
}

func noEnv(string) (string, bool) { return "", false }

// httpMain is the program http: see fetch.
func httpMain() {
	if err := fetch(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fetch sends GET requests and prints how many got which status, then the status,
// the rate headers and the body of the last one:
//
//	http [-n N] [-H 'Name: value']... URL
func fetch(out io.Writer, args []string) error {
	flags := flag.NewFlagSet("http", flag.ContinueOnError)
	n := flags.Int("n", 1, "how many")
	header := http.Header{}
	flags.Func("H", "a header", func(s string) error {
		name, value, _ := strings.Cut(s, ": ")
		header.Add(name, value)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	statuses := make(map[int]int)
	for i := range *n {
		r, err := http.NewRequest(http.MethodGet, flags.Arg(0), http.NoBody)
		if err != nil {
			return err
		}
		r.Header = header
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		statuses[res.StatusCode]++
		if i < *n-1 {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			continue
		}
		for _, status := range slices.Sorted(maps.Keys(statuses)) {
			fmt.Fprintf(out, "%d times %d\n", statuses[status], status)
		}
		if err := printAnswer(out, res); err != nil {
			return err
		}
	}
	return nil
}

// printAnswer prints an answer line by line as it comes.
func printAnswer(out io.Writer, res *http.Response) error {
	defer res.Body.Close()
	fmt.Fprintln(out, res.Status)
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		if strings.Contains(name, "Ratelimit") || name == "Retry-After" {
			fmt.Fprintf(out, "%s: %s\n", name, res.Header.Get(name))
		}
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		fmt.Fprintln(out, lines.Text())
	}
	return lines.Err()
}
