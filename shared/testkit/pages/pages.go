// Package pages runs the documentation: commands are executed in page order, and what they print must match what the
// page shows. Every fenced block has a mark after its language that says what it is; docs/CONTRIBUTING.md lists the
// marks.
//
// A time, the hash of a transaction, a request ID and a key match any other, and columns may be wider apart. An
// ellipsis matches anything within its line; one that has a line to itself matches any lines.
package pages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	Page   string // path from the root of the tree
	Line   int    // of its fence
	Lang   string
	Mark   string // "run", "serve", "output", "file", "from", "test", "example", or nothing
	Value  string // what follows the equals sign of the mark
	Text   string // without its fences
	Before string // the paragraph before it
}

// Place is where the block is, for a message.
func (b Block) Place() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// All lists the pages of a tree: README.md, docs, and the README of the client package.
func All(root string) ([]string, error) {
	list := []string{"README.md", "v3/client/npm/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			path, err = filepath.Rel(root, path)
			list = append(list, filepath.ToSlash(path))
		}
		return err
	})
	return list, err
}

// Read gives the blocks of a page.
func Read(root, page string) ([]Block, error) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, err
	}
	return Blocks(page, string(text))
}

// Blocks gives the blocks of a page's text.
func Blocks(page, text string) (blocks []Block, err error) {
	var open *Block
	paragraph, ended := "", true
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &Block{Page: page, Line: i + 1, Before: paragraph}
			open.Lang, open.Mark, _ = strings.Cut(fence, " ")
			open.Mark, open.Value, _ = strings.Cut(open.Mark, "=")
		case isFence:
			blocks = append(blocks, *open)
			open, paragraph = nil, ""
		case open != nil:
			open.Text += line + "\n"
		case strings.TrimSpace(line) == "":
			ended = true
		case ended:
			paragraph, ended = line, false
		default:
			paragraph += "\n" + line
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block is not closed", open.Place())
	}
	return blocks, nil
}

// Find gives the blocks of a page that have this language.
func Find(root, page, lang string) ([]Block, error) {
	blocks, err := Read(root, page)
	blocks = slices.DeleteFunc(blocks, func(b Block) bool { return b.Lang != lang })
	if err == nil && len(blocks) == 0 {
		err = errors.New(page + " has no block of " + lang)
	}
	return blocks, err
}

// differs are what no two runs have in common. Each is replaced in a pattern by itself, and so stands for all of its
// form.
var differs = []string{
	`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`, // a time
	`0x[0-9a-f]{64}\b`,                          // the hash of a transaction
	`\b[0-9a-f]{32}\b`,                          // a request ID
	`#[0-9a-f]{16}\b`,                           // a network, as a hash
	`\bqg_[0-9A-Za-z_-]{20,}`,                   // an API key
	`\bsha256:[0-9a-f]{64}\b`,                   // its hash
	`\b\d+(?:\.\d+)?m?s\b`,                      // how long something took
	`\b127\.0\.0\.1:\d{4,5}\b`,                  // an address that is not one of the page's
}

// forms finds them in what a page shows.
var forms = regexp.MustCompile(strings.Join(differs, "|"))

// single are the same, each to be matched as a whole.
var single = func() (all []*regexp.Regexp) {
	for _, form := range differs {
		all = append(all, regexp.MustCompile("^(?:"+form+")$"))
	}
	return all
}()

// Match says whether a command printed what a page shows.
func Match(shown, printed string) bool {
	lines := strings.Split(strings.TrimSpace(shown), "\n")
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for i, line := range lines {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(linePattern(strings.TrimRight(line, " ")))
		if i < len(lines)-1 {
			pattern.WriteString(`[ ]*\n`)
		} else {
			pattern.WriteString(`\s*`)
		}
	}
	return regexp.MustCompile(pattern.String() + `$`).MatchString(strings.TrimSpace(printed) + "\n")
}

// MatchJSON is Match for JSON, which a page may lay out as it likes. An ellipsis stands for any text there, commas
// included.
func MatchJSON(shown, printed string) bool {
	pattern := strings.ReplaceAll(linePattern(dense(shown)), `.*`, `(?s:.*)`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(dense(printed))
}

// dense takes the white space out that means nothing in JSON.
func dense(text string) string {
	var out strings.Builder
	quoted, escaped := false, false
	for _, r := range text {
		if !quoted && strings.ContainsRune(" \t\r\n", r) {
			continue
		}
		out.WriteRune(r)
		if r == '"' && !escaped {
			quoted = !quoted
		}
		escaped = quoted && r == '\\' && !escaped
	}
	return out.String()
}

// gap is between the columns of a table, whose width depends on its longest row.
var gap = regexp.MustCompile(`  +`)

// linePattern is the pattern of one line that a page shows.
func linePattern(line string) string {
	var out strings.Builder
	for line != "" {
		at := forms.FindStringIndex(line)
		if at == nil {
			at = []int{len(line), len(line)}
		}
		plain := gap.ReplaceAllString(regexp.QuoteMeta(line[:at[0]]), "  +")
		out.WriteString(strings.ReplaceAll(plain, "…", ".*"))
		found := line[at[0]:at[1]]
		for i, form := range single {
			if found != "" && form.MatchString(found) {
				out.WriteString("(?:" + differs[i] + ")")
				break
			}
		}
		line = line[at[1]:]
	}
	return out.String()
}
