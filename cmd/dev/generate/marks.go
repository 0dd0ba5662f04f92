package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A file of the module that may have marks.
type file struct {
	path string // from the root, with slashes
	text string
}

// endings are the extensions of the files that may have marks.
var endings = []string{".md", ".yaml", ".js", ".ts", ".go"}

// readFiles reads the source files: all but hidden folders, build output and recorded test data.
func readFiles(root string) ([]file, error) {
	var files []file
	skipped := []string{"bin", "dist", "testdata"}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && path != "."
		if d.IsDir() && (hidden || slices.Contains(skipped, path)) {
			return fs.SkipDir
		}
		if d.IsDir() || !slices.Contains(endings, filepath.Ext(path)) {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(root, path))
		files = append(files, file{path, string(data)})
		return err
	})
	return files, err
}

// Marks are a comment before a part, with its name, and one after it. The groups are the indentation, the name, and the
// text between the marks.
var (
	lineMarks = regexp.MustCompile(
		`(?ms)^([ \t]*)(?://|#) generated: ([^\n]+)\n(.*?)^[ \t]*(?://|#) generated end$`)
	markdownMarks = regexp.MustCompile(`(?s)()<!-- generated: ([^\n]+?) -->\n?(.*?)<!-- generated end -->`)
)

// replace returns the text with each part, including its marks, replaced.
func (f file) replace(with func(pattern *regexp.Regexp, marked string) string) string {
	if !strings.Contains(f.text, " generated: ") {
		return f.text // matching the pattern in every file would be slow
	}
	pattern := lineMarks
	if filepath.Ext(f.path) == ".md" {
		pattern = markdownMarks
	}
	return pattern.ReplaceAllStringFunc(f.text, func(marked string) string { return with(pattern, marked) })
}

// render returns the text with every part up to date, and the names of the parts that were outdated. A part within a
// line stays within it; others have their own lines.
func (f file) render() (text string, outdated []string, err error) {
	text = f.replace(func(pattern *regexp.Regexp, marked string) string {
		at := pattern.FindStringSubmatchIndex(marked)
		indentation, name, old := marked[at[2]:at[3]], marked[at[4]:at[5]], marked[at[6]:at[7]]
		part, known := parts[name]
		if !known {
			err = fmt.Errorf("%s: the part %q is unknown", f.path, name)
			return marked
		}
		rendered := strings.Join(part(), " ")
		if old == "" || strings.Contains(old, "\n") {
			rendered = indentation + strings.Join(part(), "\n"+indentation) + "\n"
		}
		if rendered != old {
			outdated = append(outdated, name)
		}
		return marked[:at[6]] + rendered + marked[at[7]:]
	})
	return text, outdated, err
}
