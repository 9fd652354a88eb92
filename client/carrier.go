package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxAnswer bounds the answer that is read.
const maxAnswer = 1 << 20

// Method is what a server is asked for.
type Method string

// The methods.
const (
	Check  Method = "check"
	Refund Method = "refund"
)

// Question is what is asked.
type Question struct {
	Method Method
	// Text is JSON. It is not changed any more.
	Text []byte
}

// Carrier brings questions to a server. It is safe for concurrent use.
type Carrier interface {
	// Ask sends a question, at most once, and returns the answer as it came. It
	// returns when ctx ends. The error of a server that did not understand is an
	// *[Error] with status 400.
	Ask(ctx context.Context, q Question) (string, error)
}

// overHTTP is the carrier over HTTP.
type overHTTP struct {
	base      string
	transport http.RoundTripper
}

// Ask implements [Carrier].
func (o *overHTTP) Ask(ctx context.Context, q Question) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.base+string(q.Method), bytes.NewReader(q.Text))
	if err != nil {
		return "", err
	}
	r.Header["Content-Type"] = []string{"application/json"}
	res, err := o.transport.RoundTrip(r)
	if err != nil {
		return "", fmt.Errorf("ask the server: %w", err)
	}
	text, err := readAnswer(res)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the server's answer: %w", err)
	case res.StatusCode != http.StatusOK:
		return "", newError(res.StatusCode, text)
	}
	return text, nil
}

// readAnswer reads a body to its end, so that the connection is used again.
func readAnswer(res *http.Response) (string, error) {
	defer res.Body.Close()
	if n := res.ContentLength; n >= 0 && n <= maxAnswer {
		b := make([]byte, n)
		_, err := io.ReadFull(res.Body, b)
		return string(b), err
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(b) > maxAnswer {
		err = errors.New("more than 1 MiB")
	}
	return string(b), err
}

// newError reads problem details, if that is what a server sent.
func newError(status int, text string) *Error {
	var p struct{ Detail, Pointer string }
	// Whatever else it is, the status says enough.
	_ = json.Unmarshal([]byte(text), &p)
	return &Error{Status: status, Detail: short(p.Detail), Pointer: short(p.Pointer)}
}

// short bounds a text that came from a server.
func short(s string) string {
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
