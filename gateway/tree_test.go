package gateway_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/quotegate/quotegate/shared/buildinfo"
)

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	inCode  = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// anchors are the names that GitHub gives to the headings of a document.
func anchors(text string) map[string]bool {
	found, used := map[string]bool{}, map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllString(m[1], "")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		if n := used[name]; n > 0 {
			found[name+"-"+strconv.Itoa(n)] = true
		}
		used[name]++
		found[name] = true
	}
	return found
}

// published is where the files of the tree are on the web.
const published = "https://github.com/quotegate/quotegate/blob/main/"

// TestLinksOfTheDocuments follows every link of the READMEs and docs that stays in
// the tree, to its file and to its heading. The README of the npm package is read
// outside of the tree, and so links to what is published.
func TestLinksOfTheDocuments(t *testing.T) {
	documents := map[string]string{}
	read := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		documents[path] = string(text)
	}
	read(filepath.Join("..", "README.md"))
	npm := filepath.Join("..", "v3", "client", "npm", "README.md")
	read(npm)
	err := filepath.WalkDir(filepath.Join("..", "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			read(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for path, text := range documents {
		prose := inCode.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			address, isPublished := strings.CutPrefix(m[1], published)
			if strings.Contains(address, "://") || strings.HasPrefix(address, "mailto:") {
				continue
			}
			followed++
			file, anchor, _ := strings.Cut(address, "#")
			target := path
			switch {
			case isPublished:
				target = filepath.Join("..", file)
			case file != "":
				target = filepath.Join(filepath.Dir(path), file)
				if path == npm {
					t.Errorf("%s links to %s, which npm does not pack: begin it with %s", path, file, published)
				}
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
				continue
			}
			if anchor == "" {
				continue
			}
			if _, ours := documents[target]; !ours || !anchors(documents[target])[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", path, m[1], target)
			}
		}
	}
	if len(documents) < 10 || followed < 50 {
		t.Errorf("found %d links in %d documents: has the way of looking for them broken?", followed, len(documents))
	}
}

// TestReadme keeps it on a page or two: most people read no more of a project.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > 160 {
		t.Errorf("the README has %d lines, and 160 are allowed: move what only some readers need to docs", lines)
	}
}

// TestLayout compares the layout in docs/CONTRIBUTING.md with the tree.
func TestLayout(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, layout, _ := strings.Cut(string(text), "## Layout\n")
	layout, _, _ = strings.Cut(layout, "\n## ")
	for name := range layers {
		if top, _, _ := strings.Cut(name, "/"); top != "cmd" {
			name = filepath.Base(name)
		} else if depth := strings.Count(name, "/"); depth > 1 {
			continue // what belongs to one command, or to several
		}
		if !strings.Contains(layout, name+"/ ") {
			t.Errorf("the layout in docs/CONTRIBUTING.md does not have %s", name)
		}
	}
	listed := regexp.MustCompile(`(?m)^(?:    )?([a-z0-9/]+)/ `)
	for _, m := range listed.FindAllStringSubmatch(layout, -1) {
		for _, parent := range []string{".", "gateway", "gateway/testkit", "shared", "shared/testkit", "testdata"} {
			if _, err := os.Stat(filepath.Join("..", parent, m[1])); err == nil {
				m = nil
				break
			}
		}
		if m != nil {
			t.Errorf("the layout in docs/CONTRIBUTING.md has %s, which is not there", m[1])
		}
	}
}

// TestNoLongLines reads the source: a line fits into 120 columns, of which a tab takes 4. Tests may have longer lines,
// since a row of a table is read best in one.
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

// isSource tells whether a file is product code that people write: Go, the client in JavaScript, and the public pages.
func isSource(path string) bool {
	switch filepath.Ext(path) {
	case ".go":
		return !strings.HasSuffix(path, "_test.go")
	case ".js", ".mjs", ".ts", ".html", ".css":
		return strings.HasPrefix(path, "../v3/client/npm/src/") || strings.HasPrefix(path, "../gateway/site/")
	}
	return false
}

// TestRelease: service, contract files, client package, README and changelog name the same release.
func TestRelease(t *testing.T) {
	var manifest struct{ Version string }
	text, err := os.ReadFile("../v3/client/npm/package.json")
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil || manifest.Version != buildinfo.Release {
		t.Errorf("the client package is %q, and the service is %q: %v", manifest.Version, buildinfo.Release, err)
	}
	for page, want := range map[string]string{"../docs/CHANGELOG.md": "\n## " + buildinfo.Release + " (" + buildinfo.Released + ")\n", "../README.md": " " + buildinfo.Release} {
		text, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %q: %v", page, want, err)
		}
	}
	gw := mount(t, setup{})
	var document struct {
		Release  string
		Versions []struct{ Contract string }
	}
	if err := json.Unmarshal(ask(gw, "/versions").Body.Bytes(), &document); err != nil || document.Release != buildinfo.Release {
		t.Errorf("/versions has release %q: %v", document.Release, err)
	}
	if len(document.Versions) == 0 {
		t.Error("/versions lists no version")
	}
	for _, v := range document.Versions {
		if contract := ask(gw, v.Contract).Body.String(); !strings.Contains(contract, "\n  x-release: "+buildinfo.Release+"\n") {
			t.Errorf("%s does not have x-release: %s", v.Contract, buildinfo.Release)
		}
	}
}
