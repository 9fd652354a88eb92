package clientip

import "testing"

func TestBareHost(t *testing.T) {
	for host, want := range map[string]string{
		"": "", "a.example": "a.example", "a.example:80": "a.example", "a.example.": "a.example", "a.example.:80": "a.example",
		"[::1]": "[::1]", "[::1]:80": "[::1]", "[::1": "", "::1": "::1", ":80": "",
	} {
		if got := BareHost(host); got != want {
			t.Errorf("BareHost(%q) = %q, want %q", host, got, want)
		}
	}
}
