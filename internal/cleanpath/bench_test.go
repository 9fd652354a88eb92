package cleanpath

import "testing"

func BenchmarkClean(b *testing.B) {
	for _, c := range []struct{ name, path string }{
		{"clean", "/v1/orders/3f2b9c1e/items"},
		{"escaped", "/v1/caf%C3%A9/menu%20card"},
		{"unclean", "//v1/./%6Frders/x/../3f2b9c1e"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Clean(c.path)
			}
		})
	}
}
