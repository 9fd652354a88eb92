package yamlfile

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxShown is the most characters of a file's text that a message repeats.
const MaxShown = 60

// Cut shortens s to [MaxShown] characters.
func Cut(s string) string {
	if utf8.RuneCountInString(s) <= MaxShown {
		return s
	}
	return string([]rune(s)[:MaxShown-1]) + "…"
}

// Quote is s in quotes, cut.
func Quote(s string) string { return strconv.Quote(Cut(s)) }

// OneOf joins words to "a, b or c".
func OneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
