package yamlfile

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Bounds of a file, for what the parser's time grows with faster than with the
// size of the file.
type Bounds struct {
	Tokens  int // words and signs
	Depth   int // of what is nested
	Entries int // of one mapping in block style

	// What to do where there are more. These may be empty.
	TokensHint, EntriesHint string
}

// Bounds of any file.
const (
	maxAnchors = 1000
	maxHeaders = 16      // --- lines, of which one may have something below it
	maxMerged  = 300_000 // fields that << looks at
)

const tooMuch = "too much for one file"

// walk goes over the tokens of a file and finds the first that passes a bound.
type walk struct {
	*Dialect
	flow    int
	anchors int
	headers int
	levels  []level
}

// level is one open collection in block style. At the same column a dash is
// inside of a key.
type level struct {
	column  int
	dash    bool
	entries int
}

// check returns what is wrong with the tokens and where, or "".
func (w *walk) check(tokens token.Tokens) (message, hint string, at *token.Token) {
	for i, t := range tokens {
		if i >= w.Bounds.Tokens {
			return tooMuch, w.Bounds.TokensHint, t
		}
		if message, hint = w.token(t); message != "" {
			return message, hint, t
		}
		if w.flow+len(w.levels) > w.Bounds.Depth {
			return fmt.Sprintf("nested more than %d deep", w.Bounds.Depth), "", t
		}
	}
	return "", "", nil
}

func (w *walk) token(t *token.Token) (message, hint string) {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		w.flow++
	case token.MappingEndType, token.SequenceEndType:
		w.flow--
	case token.DocumentHeaderType:
		w.levels = w.levels[:0]
		if w.headers++; w.headers > maxHeaders {
			return fmt.Sprintf("more than %d lines of ---", maxHeaders), w.OneDocument
		}
	case token.SequenceEntryType:
		w.enter(t.Position.Column, true)
	case token.MappingKeyType:
		w.enter(t.Position.Column, false)
	case token.MappingValueType:
		key := t
		if t.Prev != nil {
			key = t.Prev
		}
		if w.enter(key.Position.Column, false) > w.Bounds.Entries {
			return fmt.Sprintf("a mapping with more than %d entries", w.Bounds.Entries), w.Bounds.EntriesHint
		}
	case token.AnchorType:
		if w.anchors++; w.anchors > maxAnchors {
			return fmt.Sprintf("more than %d anchors", maxAnchors), ""
		}
	case token.TagType:
		return "the tag " + Quote(t.Value), "tags are not used here: leave it out, and write text in quotes"
	case token.DirectiveType:
		return "a directive", "leave the line out"
	}
	return "", ""
}

// enter notes an entry at column and returns how many its collection has.
func (w *walk) enter(column int, dash bool) int {
	if w.flow > 0 {
		return 0
	}
	for len(w.levels) > 0 {
		top := &w.levels[len(w.levels)-1]
		if top.column == column && top.dash == dash {
			top.entries++
			return top.entries
		}
		if top.column < column || top.column == column && dash {
			break
		}
		w.levels = w.levels[:len(w.levels)-1]
	}
	w.levels = append(w.levels, level{column, dash, 1})
	return 1
}
