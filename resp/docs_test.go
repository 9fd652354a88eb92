package resp_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stint-dev/stint/resp"
)

// TestDocumentation runs the commands of docs/resp.md in their order and compares
// what they print with what the page says.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../docs/resp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, newClock())})
	commands := 0
	for i, block := range strings.Split(string(page), "```") {
		if i%2 == 0 {
			continue
		}
		_, block, _ = strings.Cut(block, "\n")
		for _, step := range strings.Split(block, "$ redis-cli -p 6380 ")[1:] {
			command, printed, _ := strings.Cut(step, "\n")
			want(t, command, redisCLI(t, addr, "", strings.Fields(command)...), printed)
			commands++
		}
	}
	if commands != 5 {
		t.Errorf("%d commands were run, want 5", commands)
	}
}
