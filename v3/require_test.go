package v3_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/testkit/npm"
	"github.com/quotegate/quotegate/shared/testkit/pages"
)

// TestClientInCommonJS loads the package from CommonJS: with require in a Node that can, with import in every one, and
// transformed as Jest does it with the configuration of the README.
func TestClientInCommonJS(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it uses npm; make test-all runs it")
	}
	folder := npm.Consumer(t)
	var manifest struct{ Exports map[string]any }
	if err := json.Unmarshal(readFile(t, clientFolder+"/package.json"), &manifest); err != nil {
		t.Fatal(err)
	}
	var entries []string
	for name := range manifest.Exports {
		if name != "./package.json" {
			entries = append(entries, "@quotegate/client"+strings.TrimPrefix(name, "."))
		}
	}
	const load = `(async () => {
		for (const name of %s) if (!Object.keys(%s).length) throw new Error(name + ' exports nothing');
	})()`
	for name, expression := range map[string]string{"require.cjs": "require(name)", "import.cjs": "await import(name)"} {
		writeFile(t, folder, name, fmt.Appendf(nil, load, marshal(t, entries), expression))
	}
	nodes := []string{"node"}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" { // npm has it for no other machine
		nodes = append(nodes, "node_modules/node-24/bin/node")
	}
	for _, node := range nodes {
		version, err := npm.Run(t, folder, node, "--version")
		if err != nil {
			t.Fatal(err)
		}
		canRequire := isRequiring(t, strings.TrimSpace(version))
		for _, c := range []struct {
			args []string
			ok   bool
		}{
			{[]string{"require.cjs"}, canRequire},
			{[]string{"import.cjs"}, true},
			{[]string{"--no-experimental-require-module", "require.cjs"}, false}, // as in older ones
			{[]string{"--no-experimental-require-module", "import.cjs"}, true},
		} {
			out, err := npm.Run(t, folder, append([]string{node}, c.args...)...)
			if (err == nil) != c.ok || !c.ok && !strings.Contains(out, "ERR_REQUIRE_ESM") {
				t.Errorf("Node %s %v: %v\n%s", version, c.args, err, out)
			}
		}
	}
	loadAsJest(t, folder, entries)
}

// isRequiring says whether a version of Node can require modules: from 20.19 and 22.12 on.
func isRequiring(t *testing.T, version string) bool {
	t.Helper()
	var numbers [2]int
	for i, part := range strings.Split(strings.TrimPrefix(version, "v"), ".")[:2] {
		number, err := strconv.Atoi(part)
		if err != nil {
			t.Fatal(err)
		}
		numbers[i] = number
	}
	major, minor := numbers[0], numbers[1]
	return major == 20 && minor >= 19 || major == 22 && minor >= 12 || major > 22
}

// loadAsJest loads the entries with the configuration that the README shows.
func loadAsJest(t *testing.T, folder string, entries []string) {
	t.Helper()
	blocks, err := pages.Find("..", "v3/client/npm/README.md", "js")
	if err != nil || len(blocks) != 1 {
		t.Fatalf("the README has %d blocks for Jest, %v", len(blocks), err)
	}
	writeFile(t, folder, "jest.config.cjs", []byte(blocks[0].Text))
	writeFile(t, folder, "jest.cjs", readFile(t, "../testdata/client/jest.cjs"))
	command := slices.Concat([]string{"node", "jest.cjs", "jest.config.cjs"}, entries)
	if out, err := npm.Run(t, folder, command...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
