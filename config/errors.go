package config

import "github.com/stint-dev/stint/internal/yamlfile"

// Error is one fault in a file, or one warning: its File, Line and Column, the Text
// that stands there, the Message, and as a Hint what to write instead. Lines and
// columns count from 1, columns in characters, and are 0 where the fault is not at
// one place, such as a file that is not there. The Text is cut if it is long, and
// empty where it is a secret or not a single value. The Hint may be empty.
type Error = yamlfile.Error

// Errors are all faults of a file in the order of their places. All errors of
// [Load] and [Parse] are of this type.
type Errors = yamlfile.Errors

// faults collects what is wrong with a rules file and the files it names.
type faults = yamlfile.Faults
