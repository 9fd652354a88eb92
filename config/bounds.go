package config

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Bounds of a rules file. The parser needs time that grows with the square of the
// entries of one mapping, of what is nested and of what is anchored, so these are
// bounded before it runs.
const (
	maxBytes   = 1 << 20 // of a rules file
	maxTokens  = 300_000
	maxDepth   = 64
	maxEntries = 5000 // of one mapping in block style
	maxAnchors = 1000
	maxValues  = 300_000 // read, those repeated by aliases included
)

// bounds walks the tokens of a file and finds the first that passes a bound.
type bounds struct {
	flow    int
	anchors int
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
			return "too much for one file", fmt.Sprintf("at most %d words and signs", maxTokens), t
		}
		if message, hint = b.token(t); message != "" {
			return message, hint, t
		}
		if b.flow+len(b.levels) > maxDepth {
			return fmt.Sprintf("nested more than %d deep", maxDepth), "", t
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
			return fmt.Sprintf("a mapping with more than %d entries", maxEntries), "write long lists of keys into a CSV file: plans: { key: …, file: keys.csv }"
		}
	case token.AnchorType:
		if b.anchors++; b.anchors > maxAnchors {
			return fmt.Sprintf("more than %d anchors", maxAnchors), ""
		}
	case token.TagType:
		return fmt.Sprintf("the tag %q", cut(t.Value)), "tags are not used here: leave it out, and write text in quotes"
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
