package descriptors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Load reads a file, or all *.yaml and *.yml files of a directory and of those in
// it, in alphabetical order. Names that begin with a dot are left out, and a link to
// a file is read once, where it stands: so a mounted configuration, whose real files
// are in hidden directories, is read once too.
//
// All errors are [Errors] and tell everything that is wrong; the set is then nil.
func Load(path string, o Options) (*Set, error) {
	c := newCompiler(o)
	paths, err := Files(path)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, p := range paths {
		data, err := readFile(p)
		if err != nil {
			c.faults.Add(&Error{File: p, Message: reason(err)})
			continue
		}
		if total += len(data); total > 4*MaxFileBytes {
			c.faults.Add(&Error{File: p, Message: fmt.Sprintf("more than %d bytes in all files", 4*MaxFileBytes)})
			break
		}
		c.file(p, data)
	}
	return c.done()
}

// Parse reads one file, whose name is for messages.
func Parse(name string, data []byte, o Options) (*Set, error) {
	c := newCompiler(o)
	if len(data) > MaxFileBytes {
		c.faults.Add(&Error{File: name, Message: fmt.Sprintf("a file of %d bytes: at most %d", len(data), MaxFileBytes)})
		return c.done()
	}
	c.file(name, data)
	return c.done()
}

// Files lists the files that [Load] would read, for who watches them. Directories
// have to be watched too: a new file in one counts.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, Errors{{File: path, Message: reason(err), Hint: "write the path of a file or a directory of descriptors"}}
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	w := walker{top: path}
	if err := w.walk(path, 0); err != nil {
		return nil, err
	}
	if len(w.files) == 0 {
		return nil, Errors{{File: path, Message: "no *.yaml or *.yml file in this directory", Hint: "write one with a domain and its descriptors"}}
	}
	return w.files, nil
}

// walker collects files.
type walker struct {
	top   string
	files []string
}

// maxFolders is how deep directories are looked into.
const maxFolders = 8

func (w *walker) walk(dir string, depth int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Errors{{File: dir, Message: reason(err)}}
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir() && depth < maxFolders:
			if err := w.walk(path, depth+1); err != nil {
				return err
			}
		case isYAML(path) && isFile(path, e):
			w.files = append(w.files, path)
		}
		if len(w.files) > MaxFiles {
			return Errors{{File: w.top, Message: fmt.Sprintf("more than %d files", MaxFiles)}}
		}
	}
	return nil
}

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// isFile says whether e is a file, or a link to one or to nowhere: who reads it then
// tells.
func isFile(path string, e fs.DirEntry) bool {
	if e.Type().IsRegular() {
		return true
	}
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular()
}

// readFile reads a file up to MaxFileBytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // It was only read.
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err == nil && len(data) > MaxFileBytes {
		err = fmt.Errorf("larger than %d bytes", MaxFileBytes)
	}
	return data, err
}

// reason is an error without the path, which is told beside it.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file or directory"
	}
	return "not readable: " + err.Error()
}
