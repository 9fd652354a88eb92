package accesslog

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// plain reads a log as plain text, unpacking it where its first bytes say that it is packed.
type plain struct {
	src      io.Reader
	text     io.Reader
	unpacked int64
	packed   bool
}

// Read implements io.Reader.
func (p *plain) Read(b []byte) (int, error) {
	if p.text == nil {
		if err := p.open(); err != nil {
			return 0, err
		}
	}
	n, err := p.text.Read(b)
	p.unpacked += int64(n)
	if p.packed && err != nil && !errors.Is(err, io.EOF) {
		err = p.damaged(err)
	}
	return n, err
}

func (p *plain) open() error {
	buffered := bufio.NewReaderSize(p.src, chunk)
	magic, err := buffered.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch name := packing(string(magic)); name {
	case "":
		p.text = buffered
		return nil
	case "gzip":
		p.packed = true
		p.text, err = gzip.NewReader(buffered)
		if err != nil {
			p.text = nil
			return p.damaged(err)
		}
		return nil
	default:
		return fmt.Errorf("this is %s, not text: pipe it in as UTF-8 text, or gzip it", name)
	}
}

// damaged names what is wrong with a gzip file. A cut-off one is an io.ErrUnexpectedEOF.
func (p *plain) damaged(err error) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the gzip file is cut off after %d bytes of text: %w", p.unpacked, io.ErrUnexpectedEOF)
	case errors.Is(err, gzip.ErrHeader) && p.unpacked > 0:
		return fmt.Errorf("something that is not gzip follows the gzip file's %d bytes of text: %w", p.unpacked, err)
	case errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum):
		return fmt.Errorf("the gzip file is damaged after %d bytes of text: %w", p.unpacked, err)
	}
	return fmt.Errorf("gzip file, after %d bytes of text: %w", p.unpacked, err)
}

// packing names what begins with magic, if it is no plain text.
func packing(magic string) string {
	for _, p := range [...]struct{ magic, name string }{
		{"\x1f\x8b", "gzip"},
		{"\x28\xb5\x2f\xfd", "zstd"},
		{"\xfd7zXZ\x00", "xz"},
		{"BZh", "bzip2"},
		{"PK\x03\x04", "zip"},
		{"\xff\xfe", "UTF-16"},
		{"\xfe\xff", "UTF-16"},
	} {
		if strings.HasPrefix(magic, p.magic) {
			return p.name
		}
	}
	return ""
}
