package replay

// heap is a binary heap. The zero heap with less set is empty.
type heap[T any] struct {
	less  func(a, b T) bool
	items []T
}

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	for i := len(h.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(h.items[i], h.items[parent]) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

// pop takes the least item away. The heap must not be empty.
func (h *heap[T]) pop() T {
	var none T
	least, last := h.items[0], len(h.items)-1
	h.items[0], h.items[last] = h.items[last], none
	h.items = h.items[:last]
	h.sink()
	return least
}

// sink puts the first item, which may be too large, where it belongs.
func (h *heap[T]) sink() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h.items) {
			return
		}
		if right := child + 1; right < len(h.items) && h.less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.less(h.items[child], h.items[i]) {
			return
		}
		h.items[i], h.items[child] = h.items[child], h.items[i]
		i = child
	}
}
