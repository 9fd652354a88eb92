package config

import "strings"

// fill replaces ${NAME} and ${NAME:-default} in s; $${ stands for ${. It returns
// what is wrong, and with which part of s.
func fill(s string, env func(string) (string, bool)) (filled string, used bool, fault, part string) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), used, "", ""
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		inner, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed {
			return "", used, "${ without its }", "${"
		}
		value, fault := lookUp(inner, env)
		if fault != "" {
			return "", used, fault, "${" + inner + "}"
		}
		b.WriteString(value)
		s, used = rest, true
	}
}

// lookUp returns the value of NAME or NAME:-default.
func lookUp(inner string, env func(string) (string, bool)) (value, fault string) {
	name, def, hasDefault := strings.Cut(inner, ":-")
	if !isName(name) {
		return "", "not a variable's name"
	}
	if env != nil {
		if v, ok := env(name); ok && (v != "" || !hasDefault) {
			return v, ""
		}
	}
	if !hasDefault {
		return "", "the variable " + name + " is not set"
	}
	return def, ""
}

// isName says whether s can be the name of an environment variable.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
