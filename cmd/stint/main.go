// Stint limits the rate of an API. See stint help.
package main

import "os"

// version is set by the build.
var version string

func main() {
	os.Exit(run(os.Args[1:], process{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.LookupEnv,
	}))
}
