package stint

// Waiting is how many queues of waiting requests the limiter has.
func (l *Limiter) Waiting() int {
	l.waits.mu.Lock()
	defer l.waits.mu.Unlock()
	return len(l.waits.of)
}
