package config

import (
	"slices"
	"strings"

	"github.com/stint-dev/stint/rules"
)

// elsewhere are names that other limiters have for our fields, and what to write
// instead where that is a field.
var elsewhere = map[string]struct{ field, instead string }{
	"average":    {"limit", "limit, such as limit: 100 per minute"},
	"rate":       {"limit", "limit, such as limit: 100 per minute"},
	"requests":   {"limit", "limit, such as limit: 100 per minute"},
	"count":      {"limit", "limit, such as limit: 100 per minute"},
	"max":        {"limit", "limit, such as limit: 100 per minute"},
	"per":        {"window", "window, such as window: 1m"},
	"interval":   {"window", "window, such as window: 1m"},
	"duration":   {"window", "window, such as window: 1m"},
	"unit":       {"window", "window, such as window: 1m"},
	"name":       {"id", "id"},
	"by":         {"key", "key"},
	"shadow":     {"mode", "mode: shadow"},
	"dry_run":    {"mode", "mode: shadow"},
	"skip":       {"exempt", "exempt: true"},
	"bypass":     {"exempt", "exempt: true"},
	"algo":       {"algorithm", "algorithm"},
	"url":        {"path", "path"},
	"route":      {"path", "path"},
	"endpoint":   {"path", "path"},
	"address":    {"ip", "ip"},
	"cidr":       {"ip", "ip"},
	"status":     {"deny_status", "deny_status"},
	"backend":    {"upstream", "upstream"},
	"tiers":      {"plans", "plans"},
	"conditions": {"match", "match"},
}

// suggest says what to write instead of the unknown field name.
func suggest(name string, known []string) string {
	other := elsewhere[strings.ReplaceAll(strings.ToLower(name), "-", "_")]
	if other.field != "" && slices.Contains(known, other.field) {
		return "write " + other.instead
	}
	return rules.DidYouMean(name, known)
}
