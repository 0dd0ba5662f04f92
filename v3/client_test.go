package v3_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/testkit/npm"
	"github.com/quotegate/quotegate/shared/version"
)

// TestClient uses the client as its users do: packed by npm, in Node, compiled, bundled, and in Hermes.
func TestClient(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it uses npm; make test-all runs it")
	}
	folder := npm.Consumer(t)
	scripts, err := filepath.Glob("../testdata/client/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scripts {
		if name := filepath.Base(path); name != "package.json" {
			writeFile(t, folder, name, readFile(t, path))
		}
	}
	t.Run("files", func(t *testing.T) { checkPackedFiles(t, folder) })
	t.Run("tools", func(t *testing.T) {
		t.Parallel()
		checkWithTools(t, folder)
	})
	t.Run("oldest Node", func(t *testing.T) {
		t.Parallel()
		testInNode(t, folder, "node")
	})
	t.Run("newest Node", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
			t.Skip("SKIPPED, NOT TESTED: this machine cannot run the Node that npm has")
		}
		testInNode(t, folder, "node_modules/node-24/bin/node")
	})
}

// checkPackedFiles: the package has what it needs and nothing else, and runs wherever JavaScript does.
func checkPackedFiles(t *testing.T, folder string) {
	packed := filepath.Join(folder, "node_modules/@quotegate/client")
	entries, err := os.ReadDir(packed)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		name := entry.Name()
		got = append(got, name)
		if !strings.HasSuffix(name, ".js") {
			continue
		}
		source := string(readFile(t, filepath.Join(packed, name)))
		for _, word := range []string{"eval", "new Function", "require(", "process.", "window", "document"} {
			if strings.Contains(source, word) {
				t.Errorf("%s has %q", name, word)
			}
		}
	}
	if want := []string{
		"README.md", "amount.d.ts", "amount.js", "index.d.ts", "index.js", "package.json", "payments.js", "send.d.ts",
		"send.js", "verify.d.ts", "verify.js", "wait.js",
	}; !slices.Equal(got, want) {
		t.Errorf("npm packs %v, want %v", got, want)
	}
	if strings.Contains(string(readFile(t, filepath.Join(packed, "package.json"))), "ependencies") {
		t.Error("the package has dependencies")
	}
}

// checkWithTools runs package.mjs, and compares the sizes that it measures with those in the README.
func checkWithTools(t *testing.T, folder string) {
	w := httptest.NewRecorder()
	golden.Gateway(t).ServeHTTP(w, httptest.NewRequest("GET", version.ContractPath("v3"), nil))
	writeFile(t, folder, "contract.yaml", w.Body.Bytes())
	request, quote := readExchange(t, "../testdata/v3/details.http")
	_, listing := readExchange(t, "../testdata/v3/pairs.http")
	delete(request, "include")
	input := map[string]any{"request": request, "quote": json.RawMessage(quote), "listing": json.RawMessage(listing)}
	writeFile(t, folder, "input.json", []byte(marshal(t, input)))
	out, err := npm.Run(t, folder, "node", "--no-warnings", "package.mjs")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Sizes    map[string]int
		Problems []string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, problem := range got.Problems {
		t.Error(problem)
	}
	readme := string(readFile(t, filepath.Join(folder, "node_modules/@quotegate/client/README.md")))
	for name, size := range got.Sizes {
		if want := fmt.Sprintf("| `%s` | %.1f KB |", name, float64(size)/1000); !strings.Contains(readme, want) {
			t.Errorf("the README of the package does not say %s", want)
		}
	}
	if len(got.Sizes) != 4 {
		t.Errorf("got the sizes of %d entries, want 4", len(got.Sizes))
	}
}

// testInNode runs the tests in JavaScript, in one process.
func testInNode(t *testing.T, folder, node string) {
	testdata := filepath.Join(npm.Root(t), "testdata")
	const tests = "Promise.all(['client', 'send', 'amount'].map((name) => import(`./${name}.test.mjs`)))"
	cmd := exec.CommandContext(t.Context(), node, "--no-warnings", "--input-type=module", "--eval", tests)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOLDENS="+testdata+"/v3", "AMOUNTS="+testdata+"/client/amounts.json",
		"SUFFICIENT="+testdata+"/client/sufficient.json")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "fail 0") {
		t.Errorf("%v\n%s", err, out)
	}
}
