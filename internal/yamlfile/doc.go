// Package yamlfile reads a YAML file that may be anybody's: bounded, without
// panics, and as a tree whose values know their places. What is wrong with a file
// is told by file, line and column, with what to write instead, all at once and in
// the order of the places.
package yamlfile
