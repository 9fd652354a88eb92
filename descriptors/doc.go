// Package descriptors turns what Envoy says about a request, lists of keys and
// values, into charges, by configuration files in the format of
// envoyproxy/ratelimit.
//
// A file names a domain and holds a tree of descriptors. A descriptor of a request
// walks the tree entry by entry. At each level the node with the entry's key and
// exactly its value comes first, then those whose value has wildcards, the longest
// text before the first * first, then the node with the key alone. The limit at the
// node where the last entry ends is the descriptor's limit; where the walk ends
// earlier or at a node without a limit there is none.
//
// What a bucket is named by never mixes up: a node is named by a hash over framed
// parts, and the values that are a part of the key are framed too.
package descriptors
