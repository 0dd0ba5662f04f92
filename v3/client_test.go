package v3_test

import (
	"encoding/json"
	"fmt"
	"maps"
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

// TestClientBuild compiles the sources of the client, and compares what comes of it with the files that are packed and
// served, so that nobody needs npm to build the gateway. With UPDATE_GOLDEN=1 it writes them.
func TestClientBuild(t *testing.T) {
	isUpdate := os.Getenv("UPDATE_GOLDEN") != ""
	if testing.Short() && !isUpdate {
		t.Skip("SKIPPED, NOT TESTED: it uses npm; make test-all runs it")
	}
	folder := npm.Consumer(t)
	source := filepath.Join(folder, "package/src")
	if err := os.CopyFS(source, os.DirFS(clientFolder+"/src")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, folder, "package/package.json", readFile(t, clientFolder+"/package.json"))
	writeFile(t, folder, "build.mjs", readFile(t, "../testdata/client/build.mjs"))
	if out, err := npm.Run(t, folder, "node", "build.mjs", "package/src", "built"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := clientOutput(t, filepath.Join(folder, "built"))
	if isUpdate {
		for name := range clientOutput(t, clientFolder) {
			if _, isBuilt := want[name]; !isBuilt {
				t.Error(os.Remove(filepath.Join(clientFolder, name)))
			}
		}
		for name, text := range want {
			writeFile(t, clientFolder, name, []byte(text))
		}
	}
	got := clientOutput(t, clientFolder)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s does not match its source: run make generate", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s has no source: run make generate", name)
	}
}

const clientFolder = "client/npm"

// clientOutput reads the scripts and declarations of a folder, by name.
func clientOutput(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"*.js", "*.ts"} {
		paths, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			files[filepath.Base(path)] = string(readFile(t, path))
		}
	}
	return files
}

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
	want := slices.Collect(maps.Keys(clientOutput(t, clientFolder)))
	want = append(want, "README.md", "package.json")
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("npm packs %v, want %v", got, want)
	}
	checkDependencies(t, readFile(t, filepath.Join(packed, "package.json")))
}

// checkDependencies: the package installs nothing. An entry for viem says which versions it knows, for who has viem.
func checkDependencies(t *testing.T, manifest []byte) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(manifest, &got); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(got, func(name string, _ any) bool { return !strings.Contains(name, "ependencies") })
	want := `{"peerDependencies":{"viem":"^2.21.0"},"peerDependenciesMeta":{"viem":{"optional":true}}}`
	if marshal(t, got) != want {
		t.Errorf("the package has dependencies: got %s, want %s", marshal(t, got), want)
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
	if len(got.Sizes) < 7 {
		t.Errorf("got the sizes of %d entries, want all", len(got.Sizes))
	}
}

// testInNode runs the tests in JavaScript, in one process.
func testInNode(t *testing.T, folder, node string) {
	testdata := filepath.Join(npm.Root(t), "testdata")
	const tests = "Promise.all(['client', 'send', 'amount', 'estimate', 'viem', 'abi'].map((name) => import(`./${name}.test.mjs`)))"
	cmd := exec.CommandContext(t.Context(), node, "--no-warnings", "--input-type=module", "--eval", tests)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOLDENS="+testdata+"/v3", "AMOUNTS="+testdata+"/client/amounts.json",
		"SUFFICIENT="+testdata+"/client/sufficient.json", "ESTIMATE="+testdata+"/client/estimate.json",
		"ARTIFACTS="+npm.Root(t)+"/cmd/devnet/contracts/artifacts")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "fail 0") {
		t.Errorf("%v\n%s", err, out)
	}
}
