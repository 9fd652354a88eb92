package retry

// Quotas is how many quotas t remembers.
func Quotas(t *Transport) int {
	t.quotas.mu.Lock()
	defer t.quotas.mu.Unlock()
	return len(t.quotas.lane)
}
