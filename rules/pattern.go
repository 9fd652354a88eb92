package rules

import (
	"fmt"
	"strings"

	"github.com/stint-dev/stint/internal/cleanpath"
)

// Bounds of path patterns.
const (
	maxPattern  = 1024 // bytes of one pattern
	maxCaptures = 16   // {names} in one pattern
)

// pattern is a path pattern, compiled.
type pattern struct {
	text  string // as it was written
	head  string // the literal segments it starts with, /v1/orders
	segs  []segment
	fixed int      // how many of segs are in head
	names []string // of the captures, in order
	tail  bool     // ends with **
}

// segment is one part of a pattern between slashes.
type segment struct {
	kind segmentKind
	text string // the literal text, a glob with its stars, or the name of a capture
}

type segmentKind uint8

const (
	literal segmentKind = iota
	anyOne              // * alone
	capture             // {name}
	glob                // text with stars
)

// parsePattern compiles a pattern.
func parsePattern(text string, as spelling) (pattern, error) {
	if err := checkPattern(text); err != nil {
		return pattern{}, err
	}
	p := pattern{text: text}
	cleaned := as.trim(cleanpath.Clean(text))
	if cleaned == "/" {
		return p, nil
	}
	pieces := strings.Split(cleaned[1:], "/")
	for i, piece := range pieces {
		if piece == "**" {
			if i < len(pieces)-1 {
				return p, fmt.Errorf("path %s: ** can only be the last segment: write * for one segment", quote(text))
			}
			p.tail = true
			break
		}
		seg, err := parseSegment(piece)
		if err != nil {
			return p, fmt.Errorf("path %s: %w", quote(text), err)
		}
		seg.respell(as)
		if err := p.add(seg); err != nil {
			return p, fmt.Errorf("path %s: %w", quote(text), err)
		}
	}
	return p, nil
}

// add appends a segment.
func (p *pattern) add(seg segment) error {
	if seg.kind == literal && p.fixed == len(p.segs) {
		p.head += "/" + seg.text
		p.fixed++
	}
	if seg.kind == capture {
		for _, name := range p.names {
			if name == seg.text {
				return fmt.Errorf("{%s} is there twice: give the second another name", name)
			}
		}
		if p.names = append(p.names, seg.text); len(p.names) > maxCaptures {
			return fmt.Errorf("more than %d {names}: write * for those that no key uses", maxCaptures)
		}
	}
	p.segs = append(p.segs, seg)
	return nil
}

// checkPattern refuses what no path of a request can be.
func checkPattern(text string) error {
	if len(text) > maxPattern {
		return fmt.Errorf("a path of %d bytes: at most %d", len(text), maxPattern)
	}
	switch text {
	case "*", "**":
		return fmt.Errorf("path %s does not start with a slash: write %s, or leave path out for all of them", quote(text), quote("/**"))
	}
	if text == "" || text[0] != '/' {
		return fmt.Errorf("path %s does not start with a slash: write %s", quote(text), quote("/"+strings.TrimLeft(text, "/")))
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '?':
			return fmt.Errorf("path %s: the query is no part of the path: use match.query", quote(text))
		case c == '%' && !isEscape(text[i:]):
			return fmt.Errorf("path %s: %% begins no escape: write %%25 for a percent sign", quote(text))
		case c <= ' ' || c == 0x7f || strings.IndexByte("\"#<>\\^`|", c) >= 0:
			return fmt.Errorf("path %s: %s stands in no path as it is: write %%%02X", quote(text), quote(text[i:i+1]), c)
		}
	}
	return nil
}

// parseSegment reads what stands between two slashes.
func parseSegment(s string) (segment, error) {
	if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
		name := s[1 : len(s)-1]
		if !isName(name) {
			return segment{}, fmt.Errorf("{%s} is no name: write letters, digits and _, such as {id}", name)
		}
		return segment{kind: capture, text: name}, nil
	}
	switch {
	case strings.ContainsAny(s, "{}"):
		return segment{}, fmt.Errorf("segment %s: a {name} stands for a whole segment: write * for a part of one", quote(s))
	case s == "*":
		return segment{kind: anyOne}, nil
	case strings.Contains(s, "**"):
		return segment{}, fmt.Errorf("segment %s: ** can only be a whole segment, the last one", quote(s))
	case strings.Contains(s, "*"):
		return segment{kind: glob, text: s}, nil
	}
	return segment{kind: literal, text: s}, nil
}

// isName says whether s is a word of letters, digits and underscores that does
// not begin with a digit.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= maxID
}

// respell writes the segment as the paths are that it is compared with.
func (g *segment) respell(as spelling) {
	switch g.kind {
	case literal:
		g.text = as.compared(g.text)
	case glob:
		parts := strings.Split(g.text, "*")
		for i := range parts {
			parts[i] = as.compared(parts[i])
		}
		g.text = strings.Join(parts, "*")
	}
}

// match says whether the path, which is clean, fits, and puts what the {names}
// stand for into captured.
func (p *pattern) match(path string, captured *[maxCaptures]string) bool {
	if path == "/" {
		path = ""
	}
	if !strings.HasPrefix(path, p.head) {
		return false
	}
	rest, more := path[len(p.head):], false
	if rest != "" {
		if rest[0] != '/' {
			return false
		}
		rest, more = rest[1:], true
	}
	n := 0
	for i := p.fixed; i < len(p.segs); i++ {
		if !more {
			return false
		}
		var s string
		s, rest, more = strings.Cut(rest, "/")
		if !p.segs[i].match(s) {
			return false
		}
		if p.segs[i].kind == capture {
			captured[n] = s
			n++
		}
	}
	return p.tail || !more
}

func (g *segment) match(s string) bool {
	switch g.kind {
	case literal:
		return s == g.text
	case glob:
		return g.matchGlob(s)
	}
	return s != ""
}

// matchGlob finds what is between the stars in s, in order, the first at its start
// and the last at its end.
func (g *segment) matchGlob(s string) bool {
	part, rest, _ := strings.Cut(g.text, "*")
	s, ok := strings.CutPrefix(s, part)
	for ok {
		var more bool
		if part, rest, more = strings.Cut(rest, "*"); !more {
			return strings.HasSuffix(s, part)
		}
		_, s, ok = strings.Cut(s, part)
	}
	return false
}

// covers says that every path that fits o fits p. It may say no where yes would
// be true.
func (p *pattern) covers(o *pattern) bool {
	if len(o.segs) < len(p.segs) || !p.tail && (o.tail || len(o.segs) != len(p.segs)) {
		return false
	}
	for i := range p.segs {
		if !p.segs[i].covers(&o.segs[i]) {
			return false
		}
	}
	return true
}

func (g *segment) covers(o *segment) bool {
	switch {
	case o.kind == literal:
		return g.match(o.text)
	case g.kind == glob:
		return o.kind == glob && g.text == o.text
	}
	return g.kind != literal
}

// apart says that no path fits both. It may say no where yes would be true.
func (p *pattern) apart(o *pattern) bool {
	n := min(len(p.segs), len(o.segs))
	if len(p.segs) > n && !o.tail || len(o.segs) > n && !p.tail {
		return true
	}
	for i := range n {
		if p.segs[i].apart(&o.segs[i]) {
			return true
		}
	}
	return false
}

func (g *segment) apart(o *segment) bool {
	return g.kind == literal && !o.match(g.text) || o.kind == literal && !g.match(o.text)
}
