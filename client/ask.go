package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/wire"
)

// errLeftAlone is the error of a check that was not sent.
var errLeftAlone = errors.New("the server has not answered for a while and is left alone")

// ask sends a question once and reads the decision into d, unless the server has
// failed too often.
func (c *Client) ask(ctx context.Context, q Question, d *stint.Decision) error {
	call, ok := c.breaker.Pass(1, c.clock)
	if !ok {
		return errLeftAlone
	}
	err := c.send(ctx, q, d)
	switch {
	case err == nil || isQuestion(err):
		c.breaker.Answered(&call, 1)
	case ctx.Err() != nil:
		c.breaker.Abandon(&call, c.clock())
	default:
		c.breaker.Failed(&call, 1, c.clock())
	}
	return err
}

// clock counts from the start of the client, and is above 0.
func (c *Client) clock() time.Duration { return time.Since(c.start) + 1 }

// send sends a question once and reads the decision into d.
func (c *Client) send(ctx context.Context, q Question, d *stint.Decision) error {
	ctx, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%d checks are under way already: %w", cap(c.slots), ctx.Err())
	}
	text, err := c.carrier.Ask(ctx, q)
	if err != nil {
		return err
	}
	if err := wire.ParseDecision(text, d); err != nil {
		return fmt.Errorf("the server's answer is no decision: %w", err)
	}
	return nil
}

// escaped writes the bytes of a path that JSON can not hold as escapes, which mean
// the same to rules. A question mark is one too: what is behind it would be a query.
func escaped(path string) string {
	if utf8.ValidString(path) && strings.IndexByte(path, '?') < 0 {
		return path
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c >= utf8.RuneSelf || c == '?' {
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
			continue
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
