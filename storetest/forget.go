package storetest

import "github.com/stint-dev/stint"

// Expires is the instant from which the bucket of a key is worth nothing.
func (r *Reference) Expires(policy, key string) stint.Micros {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buckets[name{policy, key}].expires()
}

// Forget forgets the bucket of a key, as a store does that has no room for it.
func (r *Reference) Forget(policy, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.buckets, name{policy, key})
}

// Spent says whether the bucket of a key refuses a request of cost 1 at now, under the
// limit that counted it last.
func (r *Reference) Spent(policy, key string, now stint.Micros) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[name{policy, key}]
	if b.policy == nil {
		return false
	}
	_, v := take(b.count, b.policy, now, stint.Ask{})
	return !v.OK
}
