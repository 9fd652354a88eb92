package retry

import "time"

// Backoff is the wait after an attempt of which nothing is known.
func Backoff(t *Transport, attempt int) time.Duration {
	return (&run{t: t, attempt: attempt}).backoff()
}

// Quotas is how many quotas t remembers.
func Quotas(t *Transport) int {
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	return len(t.quotas.states)
}
