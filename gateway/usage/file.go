package usage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// load takes over from the file, and gives the name of the instance that left
// it. A file that is of no use is set aside, so that the next save does not
// destroy it.
func (c *Census) load() (previous string) {
	if c.file == "" {
		return ""
	}
	data, err := readFile(c.file)
	if err != nil {
		c.renounce("the file cannot be read, and is left as it is", err)
		return ""
	}
	sweep(c.file)
	if data == nil {
		c.log.Info("usage: there is no file yet; counting begins", "file", c.file)
		return ""
	}
	s, err := decode(data, c.versions, *c.key.Load())
	if err != nil {
		aside := c.file + ".unreadable"
		if failed := os.Rename(c.file, aside); failed != nil {
			c.renounce("the file is not one we can use, and cannot be set aside", errors.Join(err, failed))
			return ""
		}
		c.log.Error("usage: the file is not one we can use, and is set aside; counting begins anew", "file", c.file, "aside", aside, "error", err)
		return ""
	}
	if s.key != nil && !c.chosen {
		c.key.Store(s.key)
	}
	for version, b := range s.books {
		c.desks[version].book = b
	}
	if s.fingerprint != c.key.Load().fingerprint() {
		c.log.Warn("usage: the key has changed; clients known by their address count twice until last week is over")
		c.adopt(*c.key.Load())
	}
	c.since = min(c.since, s.since)
	return s.instance
}

// renounce gives up on a file that is not ours to replace.
func (c *Census) renounce(why string, err error) {
	text := fmt.Sprintf("counts are not saved, and a restart will lose them: %s: %v", why, err)
	c.unsaved.Store(&text)
	c.log.Error("usage: "+why+"; counting begins anew and is not saved", "file", c.file, "error", err)
	c.file = ""
}

// save writes the file, and says in the log when that begins or ceases to fail.
func (c *Census) save(s *state) {
	if c.file == "" {
		return
	}
	data, err := s.encode()
	if err == nil {
		err = writeFile(c.file, data)
	}
	failing := c.unsaved.Load() != nil
	switch {
	case err != nil && !failing:
		text := fmt.Sprintf("counts are not saved since %s, and a restart would lose them: %v", c.now().UTC().Format(time.RFC3339), err)
		c.unsaved.Store(&text)
		c.log.Error("usage: the file cannot be written", "file", c.file, "error", err)
	case err == nil && failing:
		c.unsaved.Store(nil)
		c.log.Info("usage: the file is written again", "file", c.file)
	}
}

// temporary is how files begin their life, and how those of a process that
// was killed while writing are known.
const temporary = ".*.tmp"

// readFile gives nil for a file that is not there.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPacked+1))
}

// writeFile replaces the file at path as a whole, or not at all, and has the
// disk confirm it.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+temporary) // readable by its owner alone
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// sweep removes what writers before us left unfinished.
func sweep(path string) {
	left, _ := filepath.Glob(filepath.Join(escape(filepath.Dir(path)), escape(filepath.Base(path))+temporary))
	for _, name := range left {
		_ = os.Remove(name) // what cannot be removed does no harm
	}
}

// escape keeps Glob from reading a path as a pattern.
func escape(path string) string {
	var escaped []byte
	for i := range len(path) {
		switch path[i] {
		case '*', '?', '[', '\\':
			escaped = append(escaped, '\\')
		}
		escaped = append(escaped, path[i])
	}
	return string(escaped)
}
