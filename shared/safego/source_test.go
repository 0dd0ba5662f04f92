package safego_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// served are the folders of the code that runs in the service.
var served = []string{"gateway", "shared", "cmd/gateway", "v1", "v3", "v3legacy"}

// TestOnlySafegoStartsGoroutines reads the source. A goroutine that is started in
// another way ends the process when it panics.
func TestOnlySafegoStartsGoroutines(t *testing.T) {
	files := 0
	for _, folder := range served {
		root := filepath.Join("..", "..", folder)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && (entry.Name() == "testkit" || entry.Name() == "safego") {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			for _, problem := range inspect(t, path, nil) {
				t.Error(problem)
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
}

// inspect finds what starts a goroutine in a way that a panic in it ends the process. It
// reads the file if there is no text.
func inspect(t *testing.T, path string, text any) (problems []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(at ast.Node, what, instead string) {
		problems = append(problems, set.Position(at.Pos()).String()+": "+what+": use "+instead+" of shared/safego")
	}
	for _, imported := range file.Imports {
		switch name, _ := strconv.Unquote(imported.Path.Value); name {
		case "golang.org/x/sync/errgroup":
			refuse(imported, "errgroup", "Group")
		case "golang.org/x/sync/singleflight":
			refuse(imported, "singleflight", "Singleflight")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
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
			}
		}
		return true
	})
	return problems
}

func TestInspect(t *testing.T) {
	const source = `package p
import "golang.org/x/sync/errgroup"
import "golang.org/x/sync/singleflight"
func f() {
	go f()
	time.AfterFunc(1, f)
	context.AfterFunc(ctx, f)
	group.Go(f)
	safego.Go(log, "work", f)
}`
	if problems := inspect(t, "p.go", source); len(problems) != 6 {
		t.Errorf("got %d problems, want 6:\n%s", len(problems), strings.Join(problems, "\n"))
	}
}
