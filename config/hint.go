package config

import "strings"

// hintWords begin what a message of another package says to write instead.
var hintWords = []string{": write ", ": did you mean ", ": leave ", ": at most ", ": use "}

// cutHint cuts a message before its hint: what begins as hints do, or else what
// follows the last colon. Colons in quotes are no borders.
func cutHint(s string) (message, hint string) {
	border := -1
	for i := 0; ; i++ {
		next := strings.Index(s[i:], ": ")
		if next < 0 {
			break
		}
		i += next
		if strings.Count(s[:i], `"`)%2 == 1 {
			continue
		}
		border = i
		if beginsHint(s[i:]) {
			break
		}
	}
	if border < 0 {
		return s, ""
	}
	return s[:border], s[border+2:]
}

func beginsHint(s string) bool {
	for _, words := range hintWords {
		if strings.HasPrefix(s, words) {
			return true
		}
	}
	return false
}
