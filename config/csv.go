package config

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Bounds of a CSV file of plans.
const (
	maxCSVBytes = 64 << 20
	maxCSVKeys  = 1_000_000
)

// table reads a CSV file of key,plan into of. The keys are secrets: no message
// repeats them.
type table struct {
	*faults
	file  string
	of    map[string]string
	lines map[string]int // of keys read before, 0 for those of the rules file
	plans map[string]string
}

func (t *table) fault(line, column int, message, hint string) {
	t.Add(&Error{File: t.file, Line: line, Column: column, Message: message, Hint: hint})
}

func (t *table) read(data []byte) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		t.fault(1, 1, "the file is no UTF-8", "save it as UTF-8")
		return
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment, r.FieldsPerRecord, r.TrimLeadingSpace, r.ReuseRecord = '#', -1, true, true
	for first := true; ; first = false {
		record, err := r.Read()
		if err == io.EOF {
			return
		}
		if parse, ok := errors.AsType[*csv.ParseError](err); ok {
			t.fault(parse.Line, parse.Column, "not CSV: "+parse.Err.Error(), "write key,plan")
			return
		}
		line, column := r.FieldPos(0)
		if first && isHeader(record) {
			continue
		}
		if len(t.of) >= maxCSVKeys {
			t.fault(line, column, "too many keys", fmt.Sprintf("at most %d", maxCSVKeys))
			return
		}
		t.record(record, line, column)
	}
}

// isHeader says whether a record names the columns.
func isHeader(record []string) bool {
	return len(record) == 2 && strings.EqualFold(strings.TrimSpace(record[0]), "key") && strings.EqualFold(strings.TrimSpace(record[1]), "plan")
}

func (t *table) record(record []string, line, column int) {
	if len(record) != 2 {
		t.fault(line, column, fmt.Sprintf("a line with %d fields", len(record)), "write key,plan")
		return
	}
	key, plan := strings.TrimSpace(record[0]), strings.TrimSpace(record[1])
	switch {
	case key == "":
		t.fault(line, column, "a line without a key", "write key,plan")
		return
	case plan == "":
		t.fault(line, column, "a key without a plan", "write key,plan")
		return
	}
	if _, taken := t.of[key]; taken {
		where := "in the rules file"
		if at := t.lines[key]; at > 0 {
			where = fmt.Sprintf("in line %d", at)
		}
		t.fault(line, column, "this key has a plan already", "leave it out here or "+where)
		return
	}
	// The record is a piece of a line: what is kept is a copy, and one for each plan.
	name, known := t.plans[plan]
	if !known {
		name = strings.Clone(plan)
		t.plans[name] = name
	}
	key = strings.Clone(key)
	t.of[key], t.lines[key] = name, line
}
