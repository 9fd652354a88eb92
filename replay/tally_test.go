package replay

import (
	"encoding/binary"
	"testing"
	"time"
)

func TestRefusedKeysAreBounded(t *testing.T) {
	var tl tally
	heavy := []byte{1, 5, 'h', 'e', 'a', 'v', 'y'}
	for i := range 5 * maxKeys {
		key := binary.BigEndian.AppendUint32([]byte{1, 4}, uint32(i))
		tl.refuse(time.Unix(int64(i), 0), key)
		if i%10 == 0 {
			tl.refuse(time.Unix(int64(i), 0), heavy)
		}
	}
	if len(tl.keys.of) > maxKeys || !tl.keys.dropped {
		t.Errorf("%d keys kept", len(tl.keys.of))
	}
	top := tl.keys.top()
	const truly = 5 * maxKeys / 10
	if len(top) == 0 || len(top) > topKeys || top[0].Key != "heavy" || top[0].Refused > truly || top[0].Refused < truly-tl.keys.missed {
		t.Errorf("top %v, missed %d", top[0], tl.keys.missed)
	}
	if n := tl.keys.distinct(); n < maxKeys {
		t.Errorf("at least %d keys of far more", n)
	}
	if tl.refused != 5*maxKeys+truly {
		t.Errorf("%d refusals", tl.refused)
	}
}
