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

//go:embed frame.lua
var frame string

// version is the first byte of a value less what tells its algorithm: another
// layout of values gets another one.
const version = 0x40

// script is the one text that Redis runs, and its name there.
type script struct{ text, sha string }

// newScript puts the frame around the twins of all algorithms.
func newScript() script {
	var b strings.Builder
	b.WriteString(`-- Stint settles charges. It touches the keys it is given, and no others.
local floor, min, max = math.floor, math.min, math.max
local byte, sub, rep, concat, spread = string.byte, string.sub, string.rep, table.concat, unpack
local pack, unpack = struct.pack, struct.unpack
`)
	fmt.Fprintf(&b, "local MAX, VERSION, TWINS = %d, %d, %d\n\n", stint.MaxUnits, version, len(algo.Twins))
	b.WriteString("local function text(id)\n")
	for i, text := range algo.Twins {
		fmt.Fprintf(&b, "if id == %d then\n%send\n", i+1, text)
	}
	b.WriteString("end\n\n" + frame)
	sum := sha1.Sum([]byte(b.String()))
	return script{text: b.String(), sha: hex.EncodeToString(sum[:])}
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
