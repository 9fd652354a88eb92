package httplimit

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// json returns the text of a field of the body. A body has fields if its content
// type is JSON, it is valid JSON, not compressed and within the bound.
func (s *source) json(path string) (string, bool) {
	if !s.hasBody {
		s.hasBody = true
		if lines := s.r.Header["Content-Type"]; len(lines) > 0 && isJSON(lines[0]) {
			s.body = readBody(s.r, s.maxBody)
		}
		// The standard library's check bounds the depth; gjson's recurses without end.
		if !json.Valid(s.body) {
			s.body = nil
		}
	}
	if len(s.body) == 0 {
		return "", false
	}
	return jsonText(gjson.ParseBytes(s.body), path)
}

// isJSON says whether a content type is JSON: application/json or one that ends
// in +json.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = trimBlanks(media)
	const suffix = "+json"
	return strings.EqualFold(media, "application/json") ||
		len(media) > len(suffix) && strings.EqualFold(media[len(media)-len(suffix):], suffix)
}

// readBody returns the body if it has at most most bytes, and puts back into r
// what it read. What goes wrong on the way is left for the next reader to see.
func readBody(r *http.Request, most int) []byte {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength > int64(most) {
		return nil
	}
	read, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	body := &readAgain{read: read, err: err, rest: r.Body}
	whole := err == nil && len(read) <= most
	if whole {
		body.err = io.EOF
	}
	r.Body = body
	if !whole {
		return nil
	}
	return read
}

// readAgain is a body of which a part was read already.
type readAgain struct {
	read []byte
	err  error // what came after read; nil if the rest is still to come
	rest io.ReadCloser
}

// Read implements io.Reader.
func (b *readAgain) Read(p []byte) (int, error) {
	if len(b.read) > 0 {
		n := copy(p, b.read)
		b.read = b.read[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.rest.Read(p)
}

// Close implements io.Closer.
func (b *readAgain) Close() error {
	b.read, b.err = nil, http.ErrBodyReadAfterClose
	return b.rest.Close()
}

// jsonText follows path from v to a scalar. A path is names of members and
// indexes of elements with dots between them; a backslash takes the meaning of
// the character behind it. A member that is there twice is no member, nor is one
// beside another that differs in case only: parsers differ on which they see.
func jsonText(v gjson.Result, path string) (string, bool) {
	for rest := true; rest; {
		var name string
		name, path, rest = cutName(path)
		if v = child(v, name); !v.Exists() {
			return "", false
		}
	}
	switch v.Type {
	case gjson.String:
		return v.Str, true
	case gjson.Number:
		return numberText(v), true
	case gjson.True, gjson.False:
		return v.Raw, true
	}
	return "", false
}

// cutName splits the first name off a path.
func cutName(path string) (name, rest string, more bool) {
	if strings.IndexByte(path, '\\') < 0 {
		return strings.Cut(path, ".")
	}
	var b []byte
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '.':
			return string(b), path[i+1:], true
		case path[i] == '\\' && i+1 < len(path):
			i++
		}
		b = append(b, path[i])
	}
	return string(b), "", false
}

// child returns the member or the element of v called name, none if another
// parser could take a second one for it.
func child(v gjson.Result, name string) gjson.Result {
	var found gjson.Result
	if !v.IsObject() && !v.IsArray() {
		return found
	}
	index, times := 0, 0
	v.ForEach(func(key, value gjson.Result) bool {
		if v.IsArray() {
			if strconv.Itoa(index) == name {
				found, times = value, 1
			}
			index++
			return times == 0
		}
		if key.Str == name {
			found = value
		}
		if strings.EqualFold(key.Str, name) {
			times++
		}
		return times < 2
	})
	if times > 1 {
		return gjson.Result{}
	}
	return found
}

// numberText writes a number in one way, so that 7, 7.0 and 70e-1 are one client.
// Whole numbers of any length stay as they are.
func numberText(v gjson.Result) string {
	digits := strings.TrimPrefix(v.Raw, "-")
	if strings.Trim(digits, "0123456789") == "" && v.Raw != "-0" {
		return v.Raw
	}
	switch {
	case math.IsInf(v.Num, 0) || math.IsNaN(v.Num):
		return v.Raw
	case v.Num == 0:
		return "0"
	case math.Abs(v.Num) < 1e21:
		return strconv.FormatFloat(v.Num, 'f', -1, 64)
	}
	return strconv.FormatFloat(v.Num, 'g', -1, 64)
}
