// Command worker asks a store in Redis, at instants that it is given: a line is an
// algorithm, a limit and a key, quoted, then cost and instant. It answers each with a
// line. scripts/two-releases builds it within another release too.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run(addr string) error {
	store, err := redisstore.New(redisstore.Options{Addrs: []string{addr}, ClientClock: true})
	if err != nil {
		return err
	}
	defer store.Close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var algorithm, limit, key string
		var cost, now int64
		if _, err := fmt.Sscanf(lines.Text(), "%q %q %q %d %d", &algorithm, &limit, &key, &cost, &now); err != nil {
			return err
		}
		v, err := ask(store, algorithm, limit, key, cost, now)
		if err != nil {
			fmt.Printf("error %v\n", err)
		} else {
			fmt.Printf("%+v\n", v)
		}
	}
	return lines.Err()
}

func ask(store *redisstore.Store, algorithm, limit, key string, cost, now int64) (v stint.Verdict, err error) {
	a, ok := algo.ByName(algorithm)
	if !ok {
		a = algo.LeakyQueue{MaxWaiting: 4}
	}
	l, err := stint.ParseLimit(limit)
	if err != nil {
		return v, err
	}
	p, err := stint.NewPolicy(algorithm, l, a)
	if err != nil {
		return v, err
	}
	var verdicts [1]stint.Verdict
	charges := []stint.Charge{{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: cost}}}
	_, err = store.Take(context.Background(), stint.Micros(now), charges, verdicts[:])
	return verdicts[0], err
}
