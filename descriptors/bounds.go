package descriptors

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Bounds of the files. Passing one is an error.
const (
	// MaxFileBytes is the largest file, in bytes.
	MaxFileBytes = 8 << 20
	// MaxFiles is the most files of a directory.
	MaxFiles = 1000
	// MaxDescriptors is the most nodes of all trees together, those repeated by
	// aliases included.
	MaxDescriptors = 20_000
	// MaxDepth is how deep descriptors can be nested.
	MaxDepth = 32
	// MaxText is the longest domain, key, value or name, in bytes.
	MaxText = 4096
)

// What the parser's time grows with faster than with the size of a file is bounded
// before it runs.
const (
	maxTokens  = 1_500_000
	maxNesting = 4*MaxDepth + 16 // a descriptor is a list and a mapping
	maxEntries = 1000            // of one mapping in block style
	maxAnchors = 1000
	maxHeaders = 16 // --- lines, of which one may have something below it
)

// bounds walks the tokens of a file and finds the first that passes a bound.
type bounds struct {
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
func (b *bounds) check(tokens token.Tokens) (message, hint string, at *token.Token) {
	for i, t := range tokens {
		if i >= maxTokens {
			return "too much for one file", "write it to several files", t
		}
		if message, hint = b.token(t); message != "" {
			return message, hint, t
		}
		if b.flow+len(b.levels) > maxNesting {
			return fmt.Sprintf("nested more than %d deep", maxNesting), "", t
		}
	}
	return "", "", nil
}

func (b *bounds) token(t *token.Token) (message, hint string) {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		b.flow++
	case token.MappingEndType, token.SequenceEndType:
		b.flow--
	case token.DocumentHeaderType:
		b.levels = b.levels[:0]
		if b.headers++; b.headers > maxHeaders {
			return fmt.Sprintf("more than %d lines of ---", maxHeaders), "write one domain to a file"
		}
	case token.SequenceEntryType:
		b.enter(t.Position.Column, true)
	case token.MappingKeyType:
		b.enter(t.Position.Column, false)
	case token.MappingValueType:
		key := t
		if t.Prev != nil {
			key = t.Prev
		}
		if b.enter(key.Position.Column, false) > maxEntries {
			return fmt.Sprintf("a mapping with more than %d entries", maxEntries), ""
		}
	case token.AnchorType:
		if b.anchors++; b.anchors > maxAnchors {
			return fmt.Sprintf("more than %d anchors", maxAnchors), ""
		}
	case token.TagType:
		return "the tag " + quote(t.Value), "tags are not used here: leave it out, and write text in quotes"
	case token.DirectiveType:
		return "a directive", "leave the line out"
	}
	return "", ""
}

// enter notes an entry at column and returns how many its collection has.
func (b *bounds) enter(column int, dash bool) int {
	if b.flow > 0 {
		return 0
	}
	for len(b.levels) > 0 {
		top := &b.levels[len(b.levels)-1]
		if top.column == column && top.dash == dash {
			top.entries++
			return top.entries
		}
		if top.column < column || top.column == column && dash {
			break
		}
		b.levels = b.levels[:len(b.levels)-1]
	}
	b.levels = append(b.levels, level{column, dash, 1})
	return 1
}
