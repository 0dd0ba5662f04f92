package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
)

const root = "../../.."

func read(t *testing.T) []file {
	t.Helper()
	files, err := readFiles(root)
	if err != nil || len(files) < 100 {
		t.Fatalf("got %d files (%v)", len(files), err)
	}
	return files
}

// TestGeneratedPartsAreUpToDate names every part that does not match the table of chains.
func TestGeneratedPartsAreUpToDate(t *testing.T) {
	used := map[string]bool{}
	for _, f := range read(t) {
		_, outdated, err := f.render()
		if err != nil {
			t.Error(err)
		}
		for name := range parts {
			used[name] = used[name] || strings.Contains(f.text, " generated: "+name)
		}
		for _, name := range outdated {
			t.Errorf("%s: the part %q does not match shared/chain: run make generate",
				f.path, name)
		}
	}
	for name := range parts {
		if !used[name] {
			t.Errorf("no file has a mark with the name %q", name)
		}
	}
}

// A list or a number of chains that is written by hand becomes wrong with the next chain.
func TestChainsAreNeitherListedNorCountedByHand(t *testing.T) {
	if listOfChains("from 10, 25, 130, 137 and 143 to") == "" || countOfChains(fmt.Sprintf("%d pairs", len(chain.Pairs()))) == "" {
		t.Error("a list or a count is not found")
	}
	for _, f := range read(t) {
		table := strings.HasPrefix(f.path, "shared/chain/") || strings.HasPrefix(f.path, "cmd/dev/generate/")
		compiled, _ := path.Match("v3/client/npm/*.js", f.path) // from sources that are looked at
		if table || compiled || strings.HasSuffix(f.path, "_test.go") || f.path == "docs/CHANGELOG.md" {
			continue
		}
		byHand := f.replace(func(_ *regexp.Regexp, marked string) string {
			return strings.Repeat("\n", strings.Count(marked, "\n")) // lines keep their numbers
		})
		for i, line := range strings.Split(byHand, "\n") {
			if list := listOfChains(line); list != "" {
				t.Errorf("%s:%d lists chains by hand: %s: mark it as a part that is generated", f.path, i+1, list)
			}
			if count := countOfChains(line); count != "" {
				t.Errorf("%s:%d counts chains by hand: %q: leave the number out", f.path, i+1, count)
			}
		}
	}
}

var (
	number  = regexp.MustCompile(`\d+`)
	numbers = regexp.MustCompile(`\d+(?:(?:"?, "?| and )\d+)+`)
)

// listOfChains finds a list with five or more of the issuer's chains.
func listOfChains(line string) string {
	if strings.Count(line, ", ") < 3 {
		return ""
	}
	for _, list := range numbers.FindAllString(line, -1) {
		found := 0
		for _, digits := range number.FindAllString(list, -1) {
			if slices.ContainsFunc(issuerChains(), func(id chain.ID) bool { return id.String() == digits }) {
				found++
			}
		}
		if found >= 5 {
			return list
		}
	}
	return ""
}

// countOfChains finds the number of all chains, of the issuer's, or of the pairs.
func countOfChains(line string) string {
	for _, noun := range []string{"chains", "networks", "sources", "pairs", "messengers"} {
		if strings.Contains(line, noun) { // quicker than the pattern, for a hundred thousand lines
			return countPattern.FindString(line)
		}
	}
	return ""
}

var countPattern = regexp.MustCompile(fmt.Sprintf(
	`\b(?:%d|%d|%d|%d) (?:more |other |public |supported )?(?:chains|networks|sources|pairs|messengers)\b`,
	len(chain.Networks()), len(issuerChains()), len(chain.IDs()), len(chain.Pairs())))

// TestRender fills in marks of each kind, and leaves the rest.
func TestRender(t *testing.T) {
	const inline = "a <!-- generated: chains without fast burns -->old<!-- generated end --> b\n"
	slow := sentence(slowChains())[0]
	for name, tt := range map[string]struct{ path, text, want string }{
		"in a sentence": {"x.md", inline + inline, strings.ReplaceAll(inline+inline, "old", slow)},
		"a table": {"x.md", "<!-- generated: finality -->\nold\n<!-- generated end -->\n",
			"<!-- generated: finality -->\n" + strings.Join(finalityTable(), "\n") + "\n<!-- generated end -->\n"},
		"indented": {"x.yaml", "a:\n  # generated: routing IDs\n  # generated end\nb: 1\n",
			"a:\n  # generated: routing IDs\n  " + strings.Join(routingIDs(), "\n  ") + "\n  # generated end\nb: 1\n"},
		"a comment about marks": {"x.go", "// generated: what\n", "// generated: what\n"},
	} {
		got, outdated, err := file{tt.path, tt.text}.render()
		if err != nil || got != tt.want || (len(outdated) > 0) != (got != tt.text) {
			t.Errorf("%s: got %v\n%s\nwant\n%s", name, err, got, tt.want)
		}
	}
	if got, _, err := (file{"x.go", "// generated: nothing\n// generated end\n"}).render(); err == nil {
		t.Errorf("an unknown part is\n%s", got)
	}
}
