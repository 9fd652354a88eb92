package redisstore

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// The general script's parts, in the order in which they stand. Those from restPart to
// requestPart are the function rest.
var (
	//go:embed arguments.lua
	argumentsPart string
	//go:embed values.lua
	valuesPart string
	//go:embed write.lua
	writePart string
	//go:embed rest.lua
	restPart string
	//go:embed debt.lua
	debtPart string
	//go:embed log.lua
	logPart string
	//go:embed read.lua
	readPart string
	//go:embed settle.lua
	settlePart string
	//go:embed request.lua
	requestPart string
	//go:embed usual.lua
	usualPart string
)

// version is the first byte of a value less what tells its algorithm: another
// layout of values gets another one. Numbers are little-endian; a value is
//
//	1 byte   version + 2 × the number of the twin, + 1 if the rest is wide
//	5 bytes  the moment up to which Redis surely keeps the key, in seconds
//	7 bytes  the instant of the last charge, in microseconds; not in a log
//	         what is used, then the count before if the algorithm has one, then the
//	         params it was counted under, as many as the algorithm can not compute:
//	         in 15 bytes or less, or, where one does not fit, in 7 bytes each
//
// A log, which has no narrow values, is one that is not wide: see logFormat. One that is
// wide is a log of release 0, which ends in pairs of an instant and a cost.
//
// so that the value of the usual bucket is at most 28 bytes: with 20 that Redis
// adds it takes 48.
const version = 0x40

// debtFormat is how the debt that is kept beside a bucket stands behind all of that:
// its instant, what was owed, and how it is forgiven.
const debtFormat = "<I7I7I7I7I7"

// logFormat is how the value of a log begins: the first byte, 1 if a debt follows;
// until when Redis keeps it, the limit, the window; how many slots the ring behind all
// that has, which is the first entry's and how many there are; the sum of the costs up
// to the first entry, the instants of the first and the last, and the sum up to the last.
const logFormat = "<BBI5I3I7I3I3I3I7I7I7I7"

// window is how many bytes of a log are read at once: its head and some entries.
const window = 256

// newer is the first of the 64 first bytes that are left to layouts of releases to
// come. No text in UTF-8 begins with one.
const newer = 0x80

// script is a text that Redis runs, and its name there.
type script struct{ text, sha string }

// named returns the script of a text.
func named(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{text: text, sha: hex.EncodeToString(sum[:])}
}

// newScript returns the general script: it puts the frame around the twins of all algorithms.
func newScript() script {
	var b strings.Builder
	b.WriteString(`-- Stint settles charges. It touches the keys it is given, and no others.
local floor, min, max = math.floor, math.min, math.max
local byte, sub, rep, concat, spread = string.byte, string.sub, string.rep, table.concat, unpack
local pack, unpack = struct.pack, struct.unpack
`)
	fmt.Fprintf(&b, "local MAX, VERSION, NEW, TWINS = %d, %d, %d, %d\n", stint.MaxUnits, version, newer, len(algo.Twins))
	fmt.Fprintf(&b, "local DEBT, LOG, WINDOW = '%s', '%s', %d\n", debtFormat, logFormat, window)
	b.WriteString("local up, worth, windowDebt, entry -- what twins need of debt.lua and log.lua\n\n")
	b.WriteString("local function text(id)\n")
	for i, text := range algo.Twins {
		fmt.Fprintf(&b, "if id == %d then\n%send\n", i+1, text)
	}
	b.WriteString("end\n\n" + argumentsPart + valuesPart + writePart)
	b.WriteString("local O = {now}\n\nlocal function rest()\n")
	b.WriteString(restPart + debtPart + logPart + readPart + settlePart + requestPart)
	b.WriteString("end\n\n" + usualPart)
	return named(b.String())
}

// twinOf returns the number of the algorithm's twin in the script.
func twinOf(a stint.Algorithm) (byte, error) {
	twin, ok := a.(algo.Twin)
	if !ok {
		return 0, fmt.Errorf("algorithm %q has no twin that Redis can run", a.Name())
	}
	for i, text := range algo.Twins {
		if text == twin.Lua() {
			return byte(i + 1), nil
		}
	}
	return 0, fmt.Errorf("the twin of algorithm %q is not in algo.Twins", a.Name())
}
