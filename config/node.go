package config

import "github.com/stint-dev/stint/internal/yamlfile"

// node is one value of a file. Its Value is what is written with the environment
// filled in.
type node = yamlfile.Node

// anyFaulty says whether something was said about n or about what is in it.
func anyFaulty(n *node, seen map[*node]bool) bool {
	if n == nil || seen[n] {
		return false
	}
	if n.Faulty {
		return true
	}
	seen[n] = true
	for _, item := range n.Items {
		if anyFaulty(item, seen) {
			return true
		}
	}
	for _, f := range n.Fields {
		if anyFaulty(f.Key, seen) || anyFaulty(f.Value, seen) {
			return true
		}
	}
	return false
}
