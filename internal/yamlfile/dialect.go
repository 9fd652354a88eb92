package yamlfile

import "github.com/goccy/go-yaml"

// Dialect is what one kind of file has of its own.
type Dialect struct {
	// Bounds are checked before the file is parsed.
	Bounds Bounds
	// OneDocument says what to write instead of a second document.
	OneDocument string
	// Inside places what holds others at what it holds: a mapping in braces at its
	// first key, a second document at what is in it. Else the brace and the --- are
	// their places.
	Inside bool
	// Scalar may change a single value before anybody else sees it.
	Scalar func(*Node)
	// UnknownAlias says what to write instead of *name where nothing is called name.
	UnknownAlias func(name string) (hint string)
	// Syntax puts an error of the YAML library, which has a Token, into words: the
	// text at its place, if that can be told, what is wrong, and what to write
	// instead. Line is the line that it is in. A tab in the indentation is not asked
	// about.
	Syntax func(line string, e *yaml.SyntaxError) (shown, message, hint string)
}
