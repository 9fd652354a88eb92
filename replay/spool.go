package replay

import (
	"encoding/binary"
	"fmt"
	"iter"
	"os"

	"github.com/stint-dev/stint"
)

// DefaultMaxMemory is how many bytes of charges are kept in memory if Options say
// nothing else.
const DefaultMaxMemory = 128 << 20

const (
	chunkSize = 64 << 10
	maxCharge = binary.MaxVarintLen64 + binary.MaxVarintLen32 // bytes of one charge
)

// spool keeps charges: in memory up to max bytes, further ones in a temporary
// file, which has no name once it is open where the system allows that.
type spool struct {
	dir  string
	max  int64
	used int64
	file *os.File
	size int64 // of the file
}

// chunks are charges in the order in which they came: for each the time since
// the one before, and the number of its key, as varints.
type chunks struct {
	full []chunk
	open []byte
	last stint.Micros
}

// chunk is some charges, in memory or in the file.
type chunk struct {
	bytes []byte
	at    int64
	size  int
}

// add appends a charge to c.
func (s *spool) add(c *chunks, at stint.Micros, key uint32) error {
	if len(c.open)+maxCharge > chunkSize {
		if err := s.close(c); err != nil {
			return err
		}
	}
	if c.open == nil {
		c.open = make([]byte, 0, 256)
	}
	c.open = binary.AppendVarint(c.open, int64(at-c.last))
	c.open = binary.AppendUvarint(c.open, uint64(key))
	c.last = at
	return nil
}

// close puts the open chunk away.
func (s *spool) close(c *chunks) error {
	if s.used+int64(len(c.open)) <= s.max {
		s.used += int64(len(c.open))
		c.full = append(c.full, chunk{bytes: c.open, size: len(c.open)})
		c.open = nil
		return nil
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "stint-replay-*")
		if err != nil {
			return fmt.Errorf("room for the charges of a long log: %w", err)
		}
		_ = os.Remove(f.Name()) // Where that fails, remove does it at the end.
		s.file = f
	}
	if _, err := s.file.WriteAt(c.open, s.size); err != nil {
		return fmt.Errorf("room for the charges of a long log: %w", err)
	}
	c.full = append(c.full, chunk{at: s.size, size: len(c.open)})
	s.size += int64(len(c.open))
	c.open = c.open[:0]
	return nil
}

// remove gives the file back.
func (s *spool) remove() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

// read gives the bytes of each chunk of c, which are valid until the next. The
// caller stops at the first error.
func (s *spool) read(c *chunks) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var buffer []byte
		for _, k := range c.full {
			b := k.bytes
			if b == nil {
				if buffer == nil {
					buffer = make([]byte, chunkSize)
				}
				b = buffer[:k.size]
				if _, err := s.file.ReadAt(b, k.at); err != nil {
					yield(nil, fmt.Errorf("the charges of a long log: %w", err))
					return
				}
			}
			if !yield(b, nil) {
				return
			}
		}
		yield(c.open, nil)
	}
}
