package gateway_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNoLongLines reads the source: a line fits into 120 columns, of which a tab takes 4. Tests may have longer lines,
// since a row of a table is read best in one. So may the scripts of gateway/site: the page has a limit in bytes, and a
// line break is one.
func TestNoLongLines(t *testing.T) {
	const most, tab = 120, 4
	files := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && name != ".." && strings.HasPrefix(name, ".") {
			return fs.SkipDir // .git, and what the tests install
		}
		if !isSource(filepath.ToSlash(path)) {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimRight(line, "\r\n")
			columns := utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t")
			if columns > most {
				t.Errorf("%s:%d has %d columns, want %d at most: give a part of it a name, or split it",
					path, number, columns, most)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 200 {
		t.Errorf("read %d files only", files)
	}
}

// isSource tells whether a file is product code that people write: Go, and the client in JavaScript.
func isSource(path string) bool {
	switch filepath.Ext(path) {
	case ".go":
		return !strings.HasSuffix(path, "_test.go")
	case ".js", ".mjs", ".ts":
		return strings.HasPrefix(path, "../v3/client/")
	}
	return false
}
