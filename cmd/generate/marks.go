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

// endings are those of the files that are looked at.
var endings = []string{".md", ".yaml", ".js", ".ts", ".go"}

// readFiles reads the files that people write: all but hidden folders, what was built, and the recorded data of tests.
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

// A mark is a comment before a part, with its name, and one behind it.
var (
	lineMarks = regexp.MustCompile(
		`(?ms)^([ \t]*)(?://|#) generated: ([^\n]+)\n(.*?)^[ \t]*(?://|#) generated end$`)
	markdownMarks = regexp.MustCompile(`(?s)()<!-- generated: ([^\n]+?) -->(.*?)<!-- generated end -->`)
)

// find tells where the parts are: the groups are the indentation, the name, and what is between the marks.
func (f file) find() [][]int {
	if !strings.Contains(f.text, " generated: ") {
		return nil // so that a thousand files take no time
	}
	return f.pattern().FindAllStringSubmatchIndex(f.text, -1)
}

func (f file) pattern() *regexp.Regexp {
	if filepath.Ext(f.path) == ".md" {
		return markdownMarks
	}
	return lineMarks
}

// byHand is the text without what is generated. Lines keep their numbers.
func (f file) byHand() string {
	var out strings.Builder
	from := 0
	for _, at := range f.find() {
		out.WriteString(f.text[from:at[0]])
		out.WriteString(strings.Repeat("\n", strings.Count(f.text[at[0]:at[1]], "\n")))
		from = at[1]
	}
	return out.String() + f.text[from:]
}

// render is the text with every part as it must be, and the names of the parts: of all, and of those that are not yet
// so.
func (f file) render(root string) (text string, all, outdated []string, err error) {
	var out strings.Builder
	from := 0
	for _, at := range f.find() {
		indentation, name, old := f.text[at[2]:at[3]], f.text[at[4]:at[5]], f.text[at[6]:at[7]]
		lines, err := part(root, name)
		if err != nil {
			return "", nil, nil, fmt.Errorf("%s: the part %q: %w", f.path, name, err)
		}
		rendered := layOut(lines, indentation, old)
		all = append(all, name)
		if rendered != old {
			outdated = append(outdated, name)
		}
		out.WriteString(f.text[from:at[6]])
		out.WriteString(rendered)
		from = at[7]
	}
	return out.String() + f.text[from:], all, outdated, nil
}

// layOut puts a part between its marks: within a line where the marks are, else on lines of its own.
func layOut(lines []string, indentation, old string) string {
	if !strings.Contains(old, "\n") && old != "" {
		return strings.Join(lines, " ")
	}
	begin := ""
	if strings.HasPrefix(old, "\n") { // behind a mark of Markdown
		begin = "\n"
	}
	for i, line := range lines {
		lines[i] = indentation + line + "\n"
	}
	return begin + strings.Join(lines, "")
}
