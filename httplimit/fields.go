package httplimit

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxRateFields is the most header fields that an allowed answer gets: five of
	// GitHub's, two of the draft and the exposure.
	maxRateFields = 8
	// maxFields is the most that a refusal gets: Retry-After, Cache-Control and
	// those of a body or of gRPC besides.
	maxFields = maxRateFields + 5
)

// fields collects header fields. The text of all of them is built in one buffer
// and becomes one string. It is used again for the next request.
type fields struct {
	text []byte
	n    int
	name [maxFields]string
	end  [maxFields]int    // where a field's part of text ends
	is   [maxFields]string // a field's value if it is not in text
}

func (f *fields) reset() { f.text, f.n = f.text[:0], 0 }

// done ends a field whose value was appended to text.
func (f *fields) done(name string) {
	f.name[f.n], f.end[f.n], f.is[f.n] = name, len(f.text), ""
	f.n++
}

// set adds a field with a value that is not empty and needs no building.
func (f *fields) set(name, value string) {
	f.name[f.n], f.end[f.n], f.is[f.n] = name, len(f.text), value
	f.n++
}

// setInt adds a field with a number.
func (f *fields) setInt(name string, n int64) {
	f.text = strconv.AppendInt(f.text, n, 10)
	f.done(name)
}

// join begins the value of a list with what h has of it, if that is of a limiter
// outside.
func (f *fields) join(h http.Header, name string, outside bool) {
	if !outside {
		return
	}
	for _, line := range h[name] {
		f.text = append(append(f.text, line...), ", "...)
	}
}

// expose adds names to what scripts of other origins may read.
func (f *fields) expose(r *http.Request, names string) {
	if names != "" && len(r.Header["Origin"]) > 0 {
		f.set(fieldExpose, names)
	}
}

// exposing adds names to what is exposed already, without those that are. Names do not
// depend on case.
func exposing(already []string, names string) []string {
	var missing []string
	for name := range strings.SplitSeq(names, ", ") {
		if !slices.ContainsFunc(already, func(line string) bool { return lists(line, name) }) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return already
	}
	return append(slices.Clip(already), strings.Join(missing, ", "))
}

// lists says whether name is one of those in a line.
func lists(line, name string) bool {
	for one := range strings.SplitSeq(line, ",") {
		if strings.EqualFold(strings.TrimSpace(one), name) {
			return true
		}
	}
	return false
}

// send puts the fields into h, over what was there; only the list of exposed
// names is added to. values is the storage of the values from then on.
func (f *fields) send(h http.Header, values []string) {
	text := string(f.text)
	start := 0
	for i := range f.n {
		name, end := f.name[i], f.end[i]
		if values[i] = f.is[i]; values[i] == "" {
			values[i] = text[start:end]
		}
		start = end
		if name == fieldExpose && len(h[name]) > 0 {
			h[name] = exposing(h[name], values[i])
			continue
		}
		h[name] = values[i : i+1 : i+1]
	}
}
