package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stint-dev/stint/config"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// process is what a command has from its surroundings.
type process struct {
	in       io.Reader
	out, err io.Writer
	env      func(name string) (string, bool)
}

// run runs one command and returns its exit code.
func run(args []string, p process) int {
	root := newRoot(p)
	root.SetArgs(args)
	return p.end(root.Execute())
}

// end tells an error and returns the exit code that goes with it.
func (p process) end(err error) int {
	var usage usageError
	var faults config.Errors
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errTold):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintln(p.err, "stint:", usage)
		return exitUsage
	case errors.As(err, &faults):
		fmt.Fprintln(p.err, faults)
		return exitFailed
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(p.err, "stint:", strings.TrimSuffix(line, "\n"))
	}
	return exitFailed
}

// errTold is the error of a command that has said already what failed.
var errTold = errors.New("failed")

// usageError is a mistake on the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

func newRoot(p process) *cobra.Command {
	root := &cobra.Command{
		Use:   "stint",
		Short: "limit the rate of an API",
		Long: `stint limits the rate of an API: it stands in front of it as a reverse proxy
and refuses what is over the limits of a rules file.

exit codes: 0 it went well, 1 it failed, 2 the command line is wrong.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "see stint help"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean " + near[0] + "?"
			}
			return usagef("unknown command %q: %s", args[0], hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help() // It can only fail to write.
			return usagef("no command: write one of those above, such as stint serve -c FILE")
		},
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s: see %s --help", lowerFirst(err.Error()), cmd.CommandPath())
	})
	root.AddCommand(newServe(p), newCheck(p), newTry(p), newReplay(p), newVersion(p))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		cmd.Short = lowerFirst(cmd.Short)
	}
	return root
}

// lowerFirst writes a message of a library as ours are.
func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// count checks the number of arguments; most below 0 is any number.
func count(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef("%s takes %s, not %d arguments: see %s --help", cmd.CommandPath(), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// configFlag adds the flag that names the rules file.
func configFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVarP(to, "config", "c", "", "the rules `file`")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // It fails for flags that are not there.
}

// errNoConfig is the error of a command that needs a rules file.
const errNoConfig = usageError("no rules file: name one with -c FILE")

// load reads the rules file named by the flag.
func (p process) load(path string) (*config.File, error) {
	if path == "" {
		return nil, errNoConfig
	}
	return config.Load(path, p.options())
}

// options are how rules files are read.
func (p process) options() config.Options { return config.Options{Env: p.env, CheckStore: checkStore} }
