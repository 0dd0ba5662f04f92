package gateway_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers says which of our packages each may import. The direction is what
// keeps a version deletable and the core free of all of them: a package is
// listed here when it has a reason of its own to exist.
var layers = map[string][]string{
	"shared/build":      {},
	"shared/fault":      {},
	"shared/guard":      {},
	"shared/setting":    {},
	"shared/words":      {},
	"shared/jsonfile":   {"shared/guard", "shared/words"},
	"shared/chain":      {"shared/fault", "shared/jsonfile"},
	"shared/fee":        {"shared/chain", "shared/fault"},
	"shared/calldata":   {},
	"shared/cctp":       {"shared/chain", "shared/fault", "shared/guard", "shared/remote"},
	"shared/railgun":    {"shared/fault"},
	"shared/rpc":        {"shared/chain", "shared/guard", "shared/jsonfile", "shared/remote"},
	"shared/remote":     {},
	"shared/memo":       {"shared/chain", "shared/guard"},
	"shared/integrator": {"shared/calldata", "shared/chain", "shared/fault", "shared/guard", "shared/memo", "shared/rpc", "shared/setting"},
	"shared/account":    {"shared/calldata", "shared/chain", "shared/rpc"},
	"shared/status":     {"shared/calldata", "shared/cctp", "shared/chain", "shared/fault", "shared/fee", "shared/memo", "shared/rpc"},
	"shared/quote":      {"shared/account", "shared/calldata", "shared/cctp", "shared/chain", "shared/fault", "shared/fee", "shared/integrator", "shared/railgun", "shared/setting"},
	"shared/web":        {"shared/fault", "shared/quote"},
	"shared/wire":       {"shared/chain", "shared/fault", "shared/fee", "shared/integrator", "shared/quote", "shared/web"},
	"shared/answer":     {"shared/calldata", "shared/cctp", "shared/chain", "shared/fault", "shared/fee", "shared/integrator", "shared/quote", "shared/rpc", "shared/status", "shared/web", "shared/wire"},
	"v*":                {"shared/*"}, // every version
	"v3/client":         {},           // it checks what the others make, so it shares nothing with them
	"v3/client/send":    {"v3/client"},
	"gateway/caller":    {"shared/integrator", "shared/jsonfile", "shared/words"},
	"gateway/event":     {"gateway/caller", "shared/chain", "shared/fault"},
	"gateway/limit":     {"shared/fault", "shared/guard", "shared/setting", "shared/words"},
	"gateway/lifecycle": {"gateway/caller", "shared/fault", "shared/guard", "shared/jsonfile", "shared/web", "shared/words"},
	"gateway/store":     {"shared/guard", "shared/remote", "shared/words"},
	"gateway/evidence":  {"gateway/caller", "gateway/event", "gateway/lifecycle", "gateway/store", "shared/fault", "shared/guard", "shared/words"},
	"gateway/usage":     {"gateway/caller", "gateway/event", "gateway/evidence", "gateway/lifecycle", "gateway/store", "shared/fault", "shared/guard", "shared/words"},
	"gateway/selfcheck": {"shared/calldata", "shared/chain", "shared/guard", "shared/integrator", "shared/rpc", "shared/words"},
	"gateway/metrics":   {"gateway/event", "gateway/lifecycle", "gateway/limit", "gateway/selfcheck", "gateway/usage", "shared/*"},
	"gateway/admin":     {"gateway/caller", "gateway/event", "gateway/evidence", "gateway/lifecycle", "gateway/limit", "shared/fault", "shared/guard", "shared/setting", "shared/web", "shared/words"},
	"gateway/site":      {"shared/chain", "shared/fee", "shared/web"},
	"gateway":           {"shared/*", "v*", "gateway/caller", "gateway/event", "gateway/lifecycle", "gateway/limit", "gateway/site"},
	"cmd/gateway":       {"shared/*", "gateway", "gateway/*", "cmd/internal/cli"},

	"cmd/internal/child":       {},
	"cmd/internal/cli":         {"shared/build"},
	"cmd/internal/load":        {},
	"cmd/internal/redisserver": {"cmd/internal/child"},
	"cmd/internal/swap":        {"shared/chain", "shared/railgun", "v3/client", "v3/client/send"},
	"cmd/devnet":               {"shared/chain", "shared/railgun", "v3/client", "cmd/devnet/*", "cmd/internal/*"},
	"cmd/devnet/localnet":      {},
	"cmd/devnet/reference":     {"shared/chain", "shared/railgun", "cmd/devnet/localnet", "testdata/contracts", "testdata/referee"},
	"cmd/bench":                {"cmd/internal/*", "testdata/referee"},
	"cmd/soak":                 {"cmd/internal/*", "testdata/postgres", "testdata/referee", "v3/client"},
	"cmd/release":              {"cmd/internal/cli"},
	"cmd/generate":             {"shared/chain", "shared/fee", "testdata/referee"},
	"cmd/quote":                {"shared/chain", "v3/client", "v3/client/send", "cmd/internal/cli", "cmd/internal/swap"},

	"testdata/browser":   {},
	"testdata/contracts": {},
	"testdata/golden":    {"shared/*", "gateway", "gateway/*", "testdata/referee"},
	"testdata/journal":   {},
	"testdata/node":      {},
	"testdata/npm":       {},
	"testdata/pages":     {},
	"testdata/postgres":  {},
	"testdata/ports":     {},
	"testdata/recorded":  {"gateway/caller", "gateway/event", "gateway/evidence", "gateway/lifecycle", "gateway/store", "gateway/usage", "shared/chain", "shared/fault", "testdata/journal", "testdata/postgres"},
	"testdata/referee":   {"shared/railgun"}, // and nothing else of ours: it is independent
	"testdata/steps":     {"shared/cctp", "shared/chain", "shared/quote", "shared/web", "shared/wire"},
}

func TestImportsPointOneWay(t *testing.T) {
	const module = "github.com/quotegate/quotegate/"
	args := []string{"list", "-json=ImportPath,Imports,Doc", "../..."}
	files, err := filepath.Glob("../testdata/*/*.go") // ../... passes them by
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		args = append(args, filepath.Dir(file))
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath string
			Imports    []string
			Doc        string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, known := layers[layer(name)]
		if !known {
			t.Errorf("%s is not in the table of layers: add it with what it may import, and why it exists in its package comment", name)
			continue
		}
		if p.Doc == "" {
			t.Errorf("%s has no package comment: say what it is for and what it promises", name)
		}
		for _, full := range p.Imports {
			imported, ours := strings.CutPrefix(full, module)
			if ours && !slices.Contains(allowed, layer(imported)) && !slices.Contains(allowed, path.Dir(imported)+"/*") {
				t.Errorf("%s imports %s: imports point one way, from the commands to the facts, and versions never meet", name, imported)
			}
		}
	}
}

// layer is the row of a package in the table of layers. All versions have one together.
func layer(name string) string {
	if isVersion, _ := path.Match("v[0-9]*", name); isVersion {
		return "v*"
	}
	return name
}
