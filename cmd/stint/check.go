package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stint-dev/stint/config"
)

// maxStdin bounds a rules file from the standard input, so that one that is too
// large is told from one that is not.
const maxStdin = 16 << 20

func newCheck(p process) *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "say what rules files admit, and what is wrong with them",
		Long: `check reads rules files and prints for each rule a sentence that says what it
admits. All that is wrong comes out as file:line:column, with what to write
instead, and so do traps, as warnings. The file - is the standard input.

It exits with 1 if a file has a fault; warnings are none.`,
		Args: count(1, -1, "the names of rules files"),
		RunE: func(_ *cobra.Command, args []string) error {
			failed := false
			for i, path := range args {
				if i > 0 && !quiet {
					fmt.Fprintln(p.out)
				}
				failed = !p.check(path, quiet) || failed
			}
			if failed {
				return errTold
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print faults and warnings only")
	return cmd
}

// check tells about one file and reports whether it is good.
func (p process) check(path string, quiet bool) bool {
	file, err := p.read(path)
	if err != nil {
		p.end(err)
		return false
	}
	if !quiet {
		fmt.Fprintf(p.out, "%s: good, %s\n", file.Path, sizeOf(file))
		p.explain(file)
	}
	p.warn(file)
	return true
}

// read loads a file; - is the standard input.
func (p process) read(path string) (*config.File, error) {
	if path != "-" {
		return p.load(path)
	}
	data, err := io.ReadAll(io.LimitReader(p.in, maxStdin))
	if err != nil {
		return nil, errors.Join(errors.New("standard input"), err)
	}
	return config.Parse("stdin", data, p.options())
}

// sizeOf says how many limits a file has.
func sizeOf(file *config.File) string {
	size := plural(file.Set.Len(), "rule")
	if set := file.Envoy.Set; set != nil {
		size += " and " + plural(len(set.Rules()), "limit") + " of descriptors"
	}
	return size
}

// maxSentences is how many limits of descriptors are explained: a folder can have
// thousands.
const maxSentences = 50

// explain prints what a file admits.
func (p process) explain(file *config.File) {
	for _, sentence := range file.Set.Sentences() {
		fmt.Fprintln(p.out, "  "+sentence)
	}
	set := file.Envoy.Set
	if set == nil {
		return
	}
	all := set.Rules()
	for _, r := range all[:min(len(all), maxSentences)] {
		fmt.Fprintf(p.out, "  %s: %s\n", r.Name, r.Sentence())
	}
	if more := len(all) - maxSentences; more > 0 {
		fmt.Fprintf(p.out, "  and %d more\n", more)
	}
}

// warn prints the warnings of a file.
func (p process) warn(file *config.File) {
	for _, w := range file.Warnings {
		warning := *w
		warning.Message = "warning: " + warning.Message
		fmt.Fprintln(p.err, &warning)
	}
}

// plural is a number with its noun.
func plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
