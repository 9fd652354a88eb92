// Package config reads the file an operator writes, and reads it again when it
// changes.
//
// [Load] turns a file into a [File]: the settings of a server and the compiled
// rules. It reports everything that is wrong at once, as [Errors] with file, line
// and column, the offending text and what to write instead; a file with one fault
// yields nothing. [Watcher] keeps the last good file while a bad one is on disk.
//
// The package reads no environment by itself: ${NAME} in a string asks
// [Options.Env]. What the environment answered, and keys that name clients, are
// in no error.
package config
