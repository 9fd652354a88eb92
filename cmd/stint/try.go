package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// The bounds of try.
const (
	maxTries = 10_000
	maxEvery = 366 * 24 * time.Hour
)

// tryFlags are what the command line says about the request to try.
type tryFlags struct {
	config  string
	method  string
	headers []string
	data    string
	ip      string
	store   string
	n       int
	every   time.Duration
	json    bool
}

func newTry(p process) *cobra.Command {
	var f tryFlags
	cmd := &cobra.Command{
		Use:   "try -c FILE PATH",
		Short: "say what rules do to a request, on a clock of its own",
		Long: `try sends a request n times through the rules, every so often on a clock of its
own, and prints which rules it matches or why not, with which key, and what each
request would have got. Nothing is sent anywhere. The clock starts at the
beginning of a day, and buckets are empty.

With --store the requests are decided now, by the counts that servers share, and
are charged there like any other.`,
		Example: "  stint try -c examples/quickstart.yaml /v1/orders -H 'X-Api-Key: k_acme' -n 101",
		Args:    count(1, 1, "one path"),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.try(&f, args[0])
		},
	}
	configFlag(cmd, &f.config)
	flags := cmd.Flags()
	flags.StringVarP(&f.method, "request", "X", "", "the `method` (GET, or POST with data)")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a header, as 'Name: value'; may be given several times")
	flags.StringVarP(&f.data, "data", "d", "", "the `body`")
	flags.StringVar(&f.ip, "ip", "192.0.2.1", "the `address` of the peer")
	flags.IntVarP(&f.n, "number", "n", 1, "how many requests")
	flags.DurationVar(&f.every, "every", 0, "the `time` between two requests, such as 100ms")
	flags.StringVar(&f.store, "store", "", "ask the counts at a `URL` such as redis://127.0.0.1:6379, and charge them")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	return cmd
}

// check reports what is wrong with the flags.
func (f *tryFlags) check() error {
	switch {
	case f.n < 1 || f.n > maxTries:
		return usagef("-n %d: write a number from 1 to %d", f.n, maxTries)
	case f.every < 0 || f.every > maxEvery:
		return usagef("--every %v: write a time from 0s to %v", f.every, maxEvery)
	case f.store != "" && f.every > 0:
		return usagef("--every is for a clock of try's own: leave it out with --store, which has another")
	}
	return nil
}

// request makes the request to try.
func (f *tryFlags) request(target string) (*http.Request, error) {
	addr, err := netip.ParseAddr(f.ip)
	if err != nil {
		return nil, usagef("--ip %q is no address: write one such as 192.0.2.1", f.ip)
	}
	if !strings.HasPrefix(target, "/") && !strings.Contains(target, "://") {
		return nil, usagef("path %q does not begin with a slash: write %q", target, "/"+target)
	}
	method := f.method
	if method == "" {
		method = http.MethodGet
		if f.data != "" {
			method = http.MethodPost
		}
	}
	r, err := parseRequest(method, target)
	if err != nil {
		return nil, err
	}
	if f.data != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if err := addHeaders(r, f.headers); err != nil {
		return nil, err
	}
	r.RemoteAddr = netip.AddrPortFrom(addr, 40000).String()
	return r, nil
}

// parseRequest reads method and target as a server does.
func parseRequest(method, target string) (*http.Request, error) {
	line := method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line)))
	if err != nil || r.Method != method || r.RequestURI != target {
		return nil, usagef("%q is no request: write a method and a path such as GET and /v1/orders, escaped where needed", method+" "+target)
	}
	return r, nil
}

// addHeaders adds headers written as 'Name: value'.
func addHeaders(r *http.Request, headers []string) error {
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		name = strings.TrimSpace(name)
		if !ok { // What it is may be secret.
			return usagef("-H without a colon: write 'Name: value'")
		}
		if name == "" || strings.ContainsAny(name, " \t") {
			return usagef("-H %q is no name of a header: write 'Name: value'", name)
		}
		value = strings.TrimSpace(value)
		if strings.EqualFold(name, "Host") {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return nil
}

// try prints what the rules do to the request.
func (p process) try(f *tryFlags, target string) error {
	if err := f.check(); err != nil {
		return err
	}
	r, err := f.request(target)
	if err != nil {
		return err
	}
	file, err := p.load(f.config)
	if err != nil {
		return err
	}
	t, err := newTrial(file)
	if err != nil {
		return err
	}
	if f.store != "" {
		closeStore, err := t.share(f.store, file.Store)
		if err != nil {
			return err
		}
		defer closeStore()
	}
	if err := t.send(f, r); err != nil {
		return err
	}
	if f.json {
		return writeJSON(p.out, t)
	}
	_, err = fmt.Fprint(p.out, t.text())
	return err
}
