package algo

import _ "embed"

// Twin is an algorithm that is also written in Lua 5.1, for stores that count in a
// process of their own. The two agree to the bit.
//
// The text is the body of a function that returns a table: take, which returns
// whether the charge fits and the cell afterwards; expires, capacity and back, which
// takes back a charge; owes, assume and, where Convert is more than these two, convert,
// which return what those of Go do; and how a cell is packed: wide and narrow are
// formats, and of a narrow value cell and tail its parts, words the cell's words and
// size its length, where all words are below and the first three params below1 to
// below3. What stands before owes is take and expires and all that they need, but for a
// charge with a delay.
//
// The text may use floor, min, max, sub, gsub, pack, unpack and MAX, which is
// [stint.MaxUnits]; behind owes also up, which is a/b rounded up, worth, which is
// [stint.Debt.WorthAt], and windowDebt. A log is a table that slidinglog.lua describes;
// entry, entries and source are of what keeps it. Every number stays below 2^53.
type Twin interface {
	// Lua is the text. Algorithms that count in the same cells have the same text.
	Lua() string
}

// Twins lists the texts, each once. A store may keep the place of a text in this
// list beside its cells: texts are added at the end and never move.
var Twins = []string{bucketLua, queueTwin, fixedWindowLua, slidingWindowLua, slidingLogLua}

//go:embed bucket.lua
var bucketLua string

//go:embed queue.lua
var queueLua string

//go:embed fixedwindow.lua
var fixedWindowLua string

//go:embed slidingwindow.lua
var slidingWindowLua string

//go:embed slidinglog.lua
var slidingLogLua string

// queueTwin is the queue's text on top of the bucket's.
var queueTwin = "local bucket = (function()\n" + bucketLua + "end)()\n" + queueLua

// Lua implements [Twin].
func (*bucket) Lua() string { return bucketLua }

// Lua implements [Twin].
func (LeakyQueue) Lua() string { return queueTwin }

// Lua implements [Twin].
func (fixedWindow) Lua() string { return fixedWindowLua }

// Lua implements [Twin].
func (slidingWindow) Lua() string { return slidingWindowLua }

// Lua implements [Twin].
func (slidingLog) Lua() string { return slidingLogLua }

// Each algorithm has its twin.
var (
	_ Twin = &bucket{}
	_ Twin = LeakyQueue{}
	_ Twin = fixedWindow{}
	_ Twin = slidingWindow{}
	_ Twin = slidingLog{}
)
