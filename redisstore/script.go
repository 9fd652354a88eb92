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

// script is a text that Redis runs, and its name there.
type script struct{ text, sha string }

// named returns the script of a text.
func named(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{text: text, sha: hex.EncodeToString(sum[:])}
}

// newScript returns the general script: it puts its parts around the twins of all algorithms.
func newScript() script {
	var b strings.Builder
	b.WriteString(`-- Stint settles charges. It touches the keys it is given, and no others.
local floor, min, max = math.floor, math.min, math.max
local byte, sub, gsub, rep, concat, spread = string.byte, string.sub, string.gsub, string.rep, table.concat, unpack
local pack, unpack = struct.pack, struct.unpack
`)
	fmt.Fprintf(&b, "local MAX, VERSION, NEW, TWINS = %d, %d, %d, %d\n", stint.MaxUnits, version, newer, len(algo.Twins))
	fmt.Fprintf(&b, "local DEBT, LOG, WINDOW = '%s', '%s', %d\n", debtFormat, logFormat, window)
	b.WriteString("local up, worth, windowDebt, entry, entries, source -- what twins need of debt.lua and log.lua\n\n")
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
