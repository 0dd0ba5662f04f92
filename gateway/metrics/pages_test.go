package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/testkit/pages"
)

// TestPagesQuoteWhatThereIs finds in the source what the pages, the alerts and the dashboard quote: metrics, alerts,
// codes and settings, log messages and notes. An ellipsis or a number in a quoted message stands for what is inserted.
func TestPagesQuoteWhatThereIs(t *testing.T) {
	const root = "../.."
	list, err := pages.All(root)
	if err != nil {
		t.Fatal(err)
	}
	product, found, exempt := readSource(t, root), map[string]int{}, maps.Clone(foreign)
	product.addNames(t)
	reference := readFile(t, root+"/docs/reference.md")
	for _, page := range append(list, "docs/operate/alerts.yaml", "docs/operate/alerts_test.yaml", "docs/operate/dashboard.json") {
		if page == "docs/CHANGELOG.md" { // which names what is no more
			continue
		}
		for _, q := range quotes(readFile(t, filepath.Join(root, page))) {
			found[q.kind]++
			if _, ok := foreign[q.text]; ok {
				delete(exempt, q.text)
				continue
			}
			if !product.has(q) {
				t.Errorf("%s:%d quotes the %s %q, which the source does not have", page, q.line, q.kind, q.text)
			}
			if deprecated(q.text) {
				t.Errorf("%s:%d names %s, which is an old name", page, q.line, q.text)
			}
			if q.answered && !strings.Contains(reference, "`"+q.text+"`") {
				t.Errorf("%s:%d answers the code %s, which docs/reference.md does not list", page, q.line, q.text)
			}
		}
	}
	for text := range exempt {
		t.Errorf("no page quotes %q: delete the exemption", text)
	}
	if found["name"] < 200 || found["code"] < 200 || found["message"] < 25 {
		t.Errorf("found %v: has the way of looking for them broken?", found)
	}
}

// foreign are texts that the pages quote of other programs, or as an example.
var foreign = map[string]string{
	"CROSSSLOT":                           "Redis answers it",
	"MOVED":                               "Redis answers it",
	"GOMAXPROCS":                          "Go reads it",
	"GOMEMLIMIT":                          "Go reads it",
	"HELP":                                "Prometheus calls the text of a metric so",
	"RATELIMIT":                           "a name that only resembles a setting",
	"REDIS_SERVICE_HOST":                  "Kubernetes sets it",
	"SHA256SUMS":                          ".ci/goreleaser.yaml names a file so",
	"Insufficient max fee":                "the issuer's contract reverts with it",
	"… database or disk is full":          "SQLite returns it",
	"limit: count a refused request once": "the subject of a commit",
}

// quote is something in a page that the source must have.
type quote struct {
	line       int
	kind, text string // a name is of a metric or an alert; a code may be a setting, too
	answered   bool   // in JSON, as the code of an answer
}

var (
	nameForm     = regexp.MustCompile(`\bquotegate_[a-z_]+[a-z]\b|\bQuotegate[A-Z]\w+`)
	answerForm   = regexp.MustCompile(`"code": ?"([A-Z_]+)"`)
	logForm      = regexp.MustCompile(`"msg": ?"([^"]+)"`)
	logLineForm  = regexp.MustCompile("log\\s+lines?\\s+(`[^`]+`(?:(?:,|\\s+or|\\s+and)\\s+`[^`]+`)*)")
	codeForm     = regexp.MustCompile(`^[A-Z][A-Z0-9_]{2,}$`)
	sentenceForm = regexp.MustCompile(`^[\pL\d ,:;.()…%-]+$`)
	otherForm    = regexp.MustCompile(`\w\(|^(?:docker|gateway|go|journalctl|kubectl|make|quote|systemctl) `) // a call or a command
	wordForm     = regexp.MustCompile(`\b[A-Za-z][a-z]*\b`)
	fencedForm   = regexp.MustCompile("(?ms)^```.*?^```$")
	ticksForm    = regexp.MustCompile("`([^`]+)`")
)

// quotes lists what a page quotes. Names, codes of answers and messages of log lines count anywhere, also in blocks;
// elsewhere, codes and messages stand in backquotes.
func quotes(text string) (all []quote) {
	add := func(kind string, at int, said string) *quote {
		said = strings.Join(strings.Fields(said), " ")
		all = append(all, quote{line: 1 + strings.Count(text[:at], "\n"), kind: kind, text: said})
		return &all[len(all)-1]
	}
	for _, m := range nameForm.FindAllStringIndex(text, -1) {
		add("name", m[0], text[m[0]:m[1]])
	}
	for _, m := range answerForm.FindAllStringSubmatchIndex(text, -1) {
		add("code", m[0], text[m[2]:m[3]]).answered = true
	}
	for _, m := range logForm.FindAllStringSubmatchIndex(text, -1) {
		add("message", m[0], text[m[2]:m[3]])
	}
	prose := fencedForm.ReplaceAllStringFunc(text, func(block string) string { // of the same length
		return regexp.MustCompile(`[^\n]`).ReplaceAllStringFunc(block, func(r string) string { return strings.Repeat(" ", len(r)) })
	})
	for _, m := range logLineForm.FindAllStringSubmatchIndex(prose, -1) {
		for _, one := range ticksForm.FindAllStringSubmatch(prose[m[2]:m[3]], -1) {
			add("message", m[0], one[1])
		}
	}
	for _, m := range ticksForm.FindAllStringSubmatchIndex(prose, -1) {
		said := strings.Join(strings.Fields(prose[m[2]:m[3]]), " ")
		switch {
		case codeForm.MatchString(said):
			add("code", m[0], said)
		case isSentence(said):
			add("message", m[0], said)
		}
	}
	return all
}

// isSentence tells a message from code and commands: it has three words at least, and most are lower case.
func isSentence(text string) bool {
	words := wordForm.FindAllString(text, -1)
	lower := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w != strings.ToLower(w) })
	enough := len(words) >= 3 && len(lower) >= 2 && strings.Count(text, " ") >= 2
	return enough && sentenceForm.MatchString(text) && !otherForm.MatchString(text)
}

// source is what the product can say.
type source struct {
	names     map[string]bool     // of metrics and alerts
	exact     map[string]bool     // string literals, settings, and codes that the documented nginx answers
	fragments map[string][]string // by folder: the parts of string literals between what is inserted
}

var (
	verbForm    = regexp.MustCompile(`%[-+#0]*[\d.*]*[a-zA-Z]`)
	settingForm = regexp.MustCompile(`env:"([A-Z0-9_]+)`)
	commentForm = regexp.MustCompile(`(?m)^\s*(?:/?\*|//).*$`) // of a script
	scriptForm  = regexp.MustCompile(`'([A-Z][A-Z0-9_]+)'`)
	valueForm   = regexp.MustCompile(`\b\d+[a-z]?\b|…`)
)

// notProduct are folders of tools and tests.
var notProduct = []string{"node_modules", "testkit", "testdata", "dev"}

// readSource reads all that is no test.
func readSource(t *testing.T, root string) *source {
	t.Helper()
	s := &source{names: map[string]bool{}, exact: map[string]bool{}, fragments: map[string][]string{}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains(notProduct, name)):
			return fs.SkipDir
		case strings.HasSuffix(name, ".js"):
			for _, m := range scriptForm.FindAllStringSubmatch(commentForm.ReplaceAllString(readFile(t, path), ""), -1) {
				s.exact[m[1]] = true
			}
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			return s.readGo(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := pages.Find(root, "docs/operate/instances.md", "nginx")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		for _, m := range answerForm.FindAllStringSubmatch(block.Text, -1) {
			s.exact[m[1]] = true
		}
	}
	return s
}

func (s *source) readGo(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if text := literal(e); ok && text != "…" {
			s.exact[text] = true
			s.fragments[folder] = append(s.fragments[folder], strings.Split(text, "…")...)
			for _, m := range settingForm.FindAllStringSubmatch(text, -1) {
				s.exact[m[1]] = true
			}
		}
		return true
	})
	return nil
}

// literal is a string literal, or several that are added, with an ellipsis for all that is inserted.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return verbForm.ReplaceAllString(text, "…")
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return literal(e.X) + literal(e.Y)
		}
	}
	return "…"
}

// addNames adds the metrics, also those that were not counted yet, and the alerts.
func (s *source) addNames(t *testing.T) {
	t.Helper()
	for name := range families(t) {
		s.names[name] = true
	}
	for _, m := range regexp.MustCompile(`"([a-z_]+)"`).FindAllStringSubmatch(readFile(t, "metrics.go"), -1) {
		s.names[namespace+"_"+m[1]] = true
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)\n`).FindAllStringSubmatch(read(t, "alerts.yaml"), -1) {
		s.names[m[1]] = true
	}
}

func (s *source) has(q quote) bool {
	switch {
	case q.kind == "name":
		return s.names[q.text]
	case q.kind == "code" || !strings.Contains(q.text, " "):
		return s.exact[q.text]
	}
	for _, fragments := range s.fragments {
		if !slices.ContainsFunc(valueForm.Split(q.text, -1), func(phrase string) bool { return !says(fragments, strings.TrimSpace(phrase)) }) {
			return true
		}
	}
	return false
}

// says reports whether one of the fragments has a phrase, or the end of one and the beginning of another make it.
func says(fragments []string, phrase string) bool {
	if slices.ContainsFunc(fragments, func(f string) bool { return strings.Contains(f, phrase) }) {
		return true
	}
	for i := 1; i < len(phrase); i++ {
		ends := func(f string) bool { return strings.HasSuffix(f, phrase[:i]) }
		begins := func(f string) bool { return strings.HasPrefix(f, phrase[i:]) }
		if slices.ContainsFunc(fragments, ends) && slices.ContainsFunc(fragments, begins) {
			return true
		}
	}
	return false
}
