package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/stint-dev/stint/descriptors"
)

// disk reads files and remembers what they were.
type disk struct {
	seen []source
}

// source is a file that was read, and what was in it, or why it could not
// be read.
type source struct {
	path string
	most int64
	list bool // of a folder only the names count
	sum  [sha256.Size]byte
	info fs.FileInfo // from before it was read; nil if it was not there
	read time.Time   // when that was
}

// read returns the contents of a file of at most most bytes, or what to say about
// it.
func (d *disk) read(path string, most int64) (data []byte, message, hint string) {
	s := source{path: path, most: most, read: time.Now()}
	s.info, _ = os.Stat(path) // readFile says what is wrong.
	data, message, hint = readFile(path, most)
	if message == "" {
		s.sum = sha256.Sum256(data)
	} else {
		s.sum = sha256.Sum256([]byte("\x00" + message))
	}
	d.seen = append(d.seen, s)
	return data, message, hint
}

func readFile(path string, most int64) (data []byte, message, hint string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "no such file", "check the name"
	case err != nil:
		return nil, reason(err), ""
	case info.IsDir():
		return nil, "this is a directory", "name a file in it"
	case !info.Mode().IsRegular():
		return nil, "this is no regular file", ""
	case info.Size() > most:
		message, hint = tooLarge(info.Size(), most)
		return nil, message, hint
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err), ""
	}
	defer func() { _ = f.Close() }() // It was only read.
	data, err = io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, reason(err), ""
	case int64(len(data)) > most:
		return nil, "the file is still growing", fmt.Sprintf("at most %d bytes", most)
	}
	return data, "", ""
}

// reason is an error of the file system without the path, which is told already.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Op + ": " + pe.Err.Error()
	}
	return err.Error()
}

// tooLarge is what to say about a file of size bytes.
func tooLarge(size, most int64) (message, hint string) {
	return fmt.Sprintf("the file has %d bytes", size), fmt.Sprintf("at most %d", most)
}

// see remembers the files with descriptors, and which there are in a folder. Others
// read them.
func (d *disk) see(path string) {
	files := d.names(path)
	for _, f := range files {
		d.read(f, descriptors.MaxFileBytes)
	}
}

// names remembers and returns which files with descriptors there are.
func (d *disk) names(path string) []string {
	s := source{path: path, list: true, read: time.Now()}
	s.info, _ = os.Stat(path) // Whoever reads the files tells.
	files, err := descriptors.Files(path)
	text := fmt.Sprintf("%q %v", files, err)
	s.sum = sha256.Sum256([]byte(text))
	d.seen = append(d.seen, s)
	return files
}

// again reads the file once more.
func (s source) again() source {
	d := new(disk)
	if s.list {
		d.names(s.path)
	} else {
		d.read(s.path, s.most)
	}
	return d.seen[0]
}

// grain is more than the grain of any file system's times: a file that was younger
// when it was read can have changed since without another time.
const grain = 3 * time.Second

// looksChanged says whether it is worth while to read again.
func (s source) looksChanged() bool {
	if s.list {
		return s.again().sum != s.sum
	}
	info, err := os.Stat(s.path)
	if err != nil || s.info == nil {
		return err == nil || s.info != nil
	}
	return !os.SameFile(info, s.info) || info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime()) ||
		s.read.Sub(s.info.ModTime()) < grain
}
