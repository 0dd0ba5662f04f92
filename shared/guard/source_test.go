package guard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// served are the folders of the code that runs in the service.
var served = []string{"gateway", "shared", "cmd/gateway", "v1", "v3", "v3legacy"}

// TestOnlyGuardStartsGoroutines reads the source. A goroutine that is started in
// another way ends the process when it panics.
func TestOnlyGuardStartsGoroutines(t *testing.T) {
	files := 0
	whats := map[string]bool{}
	for _, folder := range served {
		root := filepath.Join("..", "..", folder)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.Name() == "testkit" {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "guard" {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found, named := inspect(t, path, text)
			for _, problem := range found {
				t.Error(problem)
			}
			for _, what := range named {
				whats[what] = true
			}
			return nil
		})
		if err != nil && folder != "v1" && folder != "v3legacy" { // a version may be deleted
			t.Error(err)
		}
	}
	if files < 50 {
		t.Errorf("read %d files only", files)
	}
	list, err := os.ReadFile("../../docs/operate/goroutines.md")
	if err != nil {
		t.Fatal(err)
	}
	for what := range whats {
		if !strings.Contains(string(list), "`"+what+"`") {
			t.Errorf("docs/operate/goroutines.md does not list %q", what)
		}
	}
	if len(whats) < 15 {
		t.Errorf("found %d names of guarded work only", len(whats))
	}
}

// inspect finds what starts a goroutine in a way that a panic in it ends the process,
// and what guarded work is called.
func inspect(t *testing.T, path string, text []byte) (problems, whats []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(at ast.Node, what, instead string) {
		problems = append(problems, set.Position(at.Pos()).String()+": "+what+": use "+instead+" of shared/guard")
	}
	for _, imported := range file.Imports {
		switch name, _ := strconv.Unquote(imported.Path.Value); name {
		case "golang.org/x/sync/errgroup":
			refuse(imported, "errgroup", "Group")
		case "golang.org/x/sync/singleflight":
			refuse(imported, "singleflight", "Flights")
		}
	}
	texts := map[string]string{} // the constants of the file
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					texts[n.Names[i].Name], _ = strconv.Unquote(literal.Value)
				}
			}
		case *ast.GoStmt:
			refuse(n, "a go statement", "Go")
		case *ast.CallExpr:
			chosen, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				break
			}
			of, _ := chosen.X.(*ast.Ident)
			switch {
			case of != nil && (of.Name == "time" || of.Name == "context") && chosen.Sel.Name == "AfterFunc":
				refuse(n, of.Name+".AfterFunc", "After or WhenDone")
			case chosen.Sel.Name == "Go" && len(n.Args) == 1:
				refuse(n, "the Go of a WaitGroup", "Group")
			case of != nil && of.Name == "guard" && len(n.Args) >= 3, chosen.Sel.Name == "Go" && len(n.Args) == 3:
				whats = append(whats, names(n.Args, texts)...)
			}
		}
		return true
	})
	return problems, whats
}

// names are the texts among the arguments.
func names(args []ast.Expr, texts map[string]string) (found []string) {
	for _, arg := range args {
		switch arg := arg.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(arg.Value); err == nil && arg.Kind == token.STRING {
				found = append(found, text)
			}
		case *ast.Ident:
			if text := texts[arg.Name]; text != "" {
				found = append(found, text)
			}
		}
	}
	return found
}

func TestInspect(t *testing.T) {
	const source = `package p
import "golang.org/x/sync/errgroup"
import "golang.org/x/sync/singleflight"
func f() {
	const what = "second"
	go f()
	time.AfterFunc(1, f)
	context.AfterFunc(ctx, f)
	group.Go(f)
	guard.Go(log, "first", f)
	guarded.Go(log, what, f)
}`
	problems, whats := inspect(t, "p.go", []byte(source))
	if len(problems) != 6 || !slices.Equal(whats, []string{"first", "second"}) {
		t.Errorf("got %d problems and %q:\n%s", len(problems), whats, strings.Join(problems, "\n"))
	}
}
