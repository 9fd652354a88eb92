package httplimit

import (
	"net/http"
	"slices"
	"strconv"
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

// expose adds names to what scripts of other origins may read.
func (f *fields) expose(r *http.Request, names string) {
	if names != "" && len(r.Header["Origin"]) > 0 {
		f.set(fieldExpose, names)
	}
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
		if name == fieldExpose {
			if old := h[name]; len(old) > 0 {
				h[name] = append(slices.Clip(old), values[i])
				continue
			}
		}
		h[name] = values[i : i+1 : i+1]
	}
}
