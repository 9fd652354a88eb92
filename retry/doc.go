// Package retry is the client's side of a rate limit: an [http.RoundTripper] that
// slows down before a server refuses, waits as long as a server that refused asks
// for, and sends again only what is safe to send twice.
//
//	client := &http.Client{Transport: new(retry.Transport)}
//
// # What is sent again
//
// A refusal (429, 503), a gateway's failure (502, 504) and a broken connection, if
// the method is idempotent (GET, HEAD, OPTIONS, TRACE, PUT, DELETE) or the request
// has an Idempotency-Key, and its body, if any, can be had again by GetBody. Other
// requests are sent again only where nothing of them had been sent: the connection
// could not be made. [Transport.RepeatAny] widens that.
//
// # How long it waits
//
// Never less than Retry-After says. If that is longer than the caller is ready to
// wait, the answer is returned at once: asking earlier is refused again and counts
// against the client with many servers. Without Retry-After the wait is random
// between 0 and a ceiling that doubles with each attempt. That is "full jitter" of
// Marc Brooker, Exponential Backoff And Jitter, AWS Architecture Blog: of the
// variants compared there it makes the fewest calls and no client meets another
// one twice. A random part is also added to Retry-After, or all clients that were
// refused together would come back together.
package retry
