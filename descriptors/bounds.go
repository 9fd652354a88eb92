package descriptors

// Bounds of the files. Passing one is an error.
const (
	// MaxFileBytes is the largest file, in bytes.
	MaxFileBytes = 8 << 20
	// MaxFiles is the most files of a directory.
	MaxFiles = 1000
	// MaxDescriptors is the most nodes of all trees together, those repeated by
	// aliases included.
	MaxDescriptors = 20_000
	// MaxDepth is how deep descriptors can be nested.
	MaxDepth = 32
	// MaxText is the longest domain, key, value or name, in bytes.
	MaxText = 4096
)
