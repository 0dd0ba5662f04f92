package pages_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/quotegate/quotegate/shared/testkit/pages"
)

const root = "../../.."

// played are pages whose commands are run by a test of another package, which the value names.
var played = map[string]string{}

func allBlocks(t *testing.T) (blocks []pages.Block) {
	t.Helper()
	list, err := pages.All(root)
	if err != nil || len(list) < 10 {
		t.Fatalf("found %d pages, %v", len(list), err)
	}
	for _, page := range list {
		found, err := pages.Read(root, page)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, found...)
	}
	return blocks
}

// TestEveryBlockIsRunComparedOrAnExample wants a mark on every block of every page, and the mark to be true as far as that
// can be told without running anything.
func TestEveryBlockIsRunComparedOrAnExample(t *testing.T) {
	tests := testSources(t)
	var last pages.Block
	for _, b := range allBlocks(t) {
		if problem := markProblem(t, tests, last, b); problem != "" {
			t.Errorf("%s: %s", b.Place(), problem)
		}
		last = b
	}
}

// markProblem says what is wrong with the mark of a block, if anything is.
func markProblem(t *testing.T, tests map[string]string, last, b pages.Block) string {
	t.Helper()
	switch b.Mark {
	case "run", "serve", "file":
		if _, ok := stages[b.Page]; !ok && played[b.Page] == "" {
			return "no test plays this page: add it to the stages of run_test.go"
		}
	case "output":
		if last.Page != b.Page || last.Mark != "run" {
			return "no block that is run comes before this output"
		}
	case "from":
		source, err := os.ReadFile(filepath.Join(root, b.Value))
		if err != nil {
			return err.Error()
		}
		if !contains(string(source), b.Text) {
			return b.Value + " does not have this text"
		}
	case "test":
		if !holds(tests, b) {
			return "there is no test " + b.Value + " that reads " + b.Page
		}
	case "example":
		if !strings.Contains(strings.ToLower(b.Before), "example") {
			return "the text before it does not say that it is an example"
		}
	default:
		if b.Lang != "mermaid" { // a picture
			return "it has no mark after its language: run, serve, output, file=, from=, test= or example; see shared/testkit/pages"
		}
	}
	return ""
}

// holds says whether the test that a block names is there, in a package whose tests read the page. It may be a script, too.
func holds(tests map[string]string, b pages.Block) bool {
	if strings.Contains(b.Value, "/") {
		script, err := os.ReadFile(filepath.Join(root, b.Value))
		return err == nil && strings.Contains(string(script), b.Page)
	}
	for _, source := range tests {
		if strings.Contains(source, "\nfunc "+b.Value+"(") && strings.Contains(source, b.Page) {
			return true
		}
	}
	return false
}

// testSources are the tests of each folder, as one text.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		sources[filepath.Dir(path)] += string(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

var comment = regexp.MustCompile(`(?m) // .*$`)

// contains says whether a source has what a page shows of it, whatever its white space and comments. At an ellipsis and at
// an empty line the page leaves something out; a declaration may end before its body.
func contains(source, shown string) bool {
	plain := func(text string) string {
		return strings.Join(strings.Fields(comment.ReplaceAllString(text, "")), "")
	}
	source = plain(source)
	for part := range strings.SplitSeq(strings.ReplaceAll(shown, "\n\n", "…"), "…") {
		if !strings.Contains(source, strings.TrimSuffix(plain(part), ";")) {
			return false
		}
	}
	return true
}

func TestMatch(t *testing.T) {
	for name, c := range map[string]struct {
		shown, printed string
		want           bool
	}{
		"the same":              {"a\nb\n", "a\nb\n", true},
		"another":               {"a\n", "b\n", false},
		"more":                  {"a\n", "a\nb\n", false},
		"less":                  {"a\nb\n", "a\n", false},
		"nothing":               {"", "", true},
		"something for nothing": {"", "a\n", false},
		"cut short":             {"a… c\n", "abbb c\n", true},
		"not beyond its line":   {"a… c\n", "ab\nb c\n", false},
		"lines left out":        {"a\n…\nc\n", "a\nb\nb\nc\n", true},
		"no line left out":      {"a\n…\nc\n", "a\nc\n", true},
		"the end left out":      {"a\n…\n", "a\nb\nc\n", true},
		"the begin left out":    {"…\nc\n", "a\nc\n", true},
		"another end":           {"a\n…\nc\n", "a\nb\nd\n", false},
		"a time":                {"at 2026-11-16T10:00:00Z", "at 2031-01-02T03:04:05.678Z", true},
		"no time":               {"at 2026-11-16T10:00:00Z", "at noon", false},
		"a request ID":          {`"d0cdc7153dc2149ac8ad9f41bb0e9f0f"`, `"00000000000000000000000000000000"`, true},
		"an address":            {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x6aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", false},
		"an amount":             {"99700000", "99700001", false},
		"spaces at the end":     {"a", "a   ", true},
		"what a pattern means":  {"a.c", "abc", false},
	} {
		if got := pages.Match(c.shown, c.printed); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	for name, c := range map[string]struct {
		shown, printed string
		want           bool
	}{
		"laid out":           {"{\"a\": 1,\n \"b\": [2, …]}", `{"a":1,"b":[2,3,4]}`, true},
		"spaces in a string": {`{"a": "b c"}`, `{"a":"bc"}`, false},
		"another value":      {`{"a": 1, …}`, `{"a":2,"b":3}`, false},
		"a string cut short": {`{"a": "0x09…"}`, `{"a":"0x095ea7b3"}`, true},
	} {
		if got := pages.MatchJSON(c.shown, c.printed); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestEnd wants everything that a command started to have ended, also what the shell does not wait for.
func TestEnd(t *testing.T) {
	shell := pages.Shell{Dir: t.TempDir(), Env: os.Environ()}
	slow := "(trap 'sleep 0.5; touch ended; exit' TERM; echo serving; while :; do sleep 0.01; done) 2>/dev/null | tee log"
	shell.Serve(t, slow, "serving").End(syscall.SIGTERM)
	if _, err := os.Stat(filepath.Join(shell.Dir, "ended")); err != nil {
		t.Error(err)
	}
}

func TestBlocks(t *testing.T) {
	got, err := pages.Blocks("a.md", "# A\n\nAn example\nof it:\n\n```json example\n{}\n```\ntext\n```sh run\nls\n```\n```go\n```\n```text file=a.txt\nx\n```\n")
	want := []pages.Block{
		{Page: "a.md", Line: 6, Lang: "json", Mark: "example", Text: "{}\n", Before: "An example\nof it:"},
		{Page: "a.md", Line: 10, Lang: "sh", Mark: "run", Text: "ls\n", Before: "text"},
		{Page: "a.md", Line: 13, Lang: "go"},
		{Page: "a.md", Line: 15, Lang: "text", Mark: "file", Value: "a.txt", Text: "x\n"},
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	if _, err := pages.Blocks("a.md", "```sh run\n"); err == nil {
		t.Error("a block that is not closed is read")
	}
}
