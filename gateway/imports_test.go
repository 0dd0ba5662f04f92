package gateway_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// layers says which of our packages each may import. The direction is what
// keeps a version deletable and the core free of all of them: a package is
// listed here when it has a reason of its own to exist.
var layers = map[string][]string{
	"shared/buildinfo":  {},
	"shared/fault":      {},
	"shared/safego":     {},
	"shared/setting":    {},
	"shared/humanize":   {},
	"shared/jsonfile":   {"shared/safego", "shared/humanize"},
	"shared/chain":      {"shared/fault", "shared/jsonfile"},
	"shared/fee":        {"shared/chain", "shared/fault"},
	"shared/calldata":   {"shared/chain", "shared/fault"},
	"shared/cctp":       {"shared/chain", "shared/fault", "shared/fee", "shared/safego"},
	"shared/railgun":    {"shared/fault"},
	"shared/skew":       {"shared/chain", "shared/humanize"},
	"shared/rpc":        {"shared/chain", "shared/fault", "shared/safego", "shared/jsonfile", "shared/skew"},
	"shared/cache":      {"shared/safego"},
	"shared/integrator": {"shared/cache", "shared/calldata", "shared/chain", "shared/fault", "shared/quote", "shared/rpc", "shared/safego", "shared/setting"},
	"shared/account":    {"shared/calldata", "shared/chain", "shared/quote", "shared/rpc"},
	"shared/status":     {"shared/calldata", "shared/cctp", "shared/chain", "shared/fault", "shared/fee", "shared/cache", "shared/rpc"},
	"shared/quote":      {"shared/calldata", "shared/chain", "shared/fault", "shared/fee", "shared/railgun", "shared/safego", "shared/setting"},
	"shared/version":    {"shared/chain", "shared/fault"},
	"shared/static":     {"shared/version"},
	"shared/api":        {"shared/calldata", "shared/cctp", "shared/chain", "shared/fault", "shared/fee", "shared/quote", "shared/rpc", "shared/status", "shared/static", "shared/version"},
	"v*":                {"shared/*"}, // every version

	// It checks what the others make, so it shares nothing with them.
	"v3/client":                {"v3/client/internal/*"},
	"v3/client/internal/call":  {},
	"v3/client/internal/known": {},
	"v3/client/send":           {"v3/client", "v3/client/internal/call"},

	"gateway/caller":    {"shared/calldata", "shared/jsonfile"},
	"gateway/event":     {"gateway/caller", "shared/chain", "shared/fault", "shared/humanize"},
	"gateway/limit":     {"shared/fault", "shared/safego", "shared/setting", "shared/humanize"},
	"gateway/lifecycle": {"gateway/caller", "shared/fault", "shared/safego", "shared/jsonfile", "shared/version", "shared/humanize", "shared/buildinfo"},
	"gateway/evidence":  {"gateway/caller", "gateway/event", "gateway/lifecycle", "gateway/usage", "shared/fault", "shared/safego", "shared/humanize", "shared/skew"},
	"gateway/usage":     {"gateway/caller", "gateway/event", "gateway/lifecycle", "shared/fault", "shared/safego", "shared/humanize", "shared/skew"},
	"gateway/selfcheck": {"shared/calldata", "shared/chain", "shared/safego", "shared/integrator", "shared/rpc", "shared/humanize"},
	"gateway/metrics":   {"gateway/event", "gateway/evidence", "gateway/lifecycle", "gateway/limit", "gateway/selfcheck", "shared/*"},
	"gateway/admin":     {"gateway/caller", "gateway/event", "gateway/evidence", "gateway/lifecycle", "shared/fault", "shared/safego", "shared/setting", "shared/static", "shared/humanize"},
	"gateway/site":      {"shared/chain", "shared/fee", "shared/static", "shared/version"},
	"gateway":           {"shared/*", "v*", "gateway/caller", "gateway/event", "gateway/lifecycle", "gateway/limit", "gateway/site", "gateway/usage"},
	"cmd/gateway":       {"shared/*", "gateway", "gateway/*", "cmd/internal/cli"},

	"cmd/internal/child":   {},
	"cmd/internal/cli":     {"shared/buildinfo"},
	"cmd/internal/swap":    {"shared/chain", "shared/fee", "shared/railgun", "v3/client", "v3/client/send"},
	"cmd/devnet":           {"shared/chain", "v3/client", "cmd/devnet/*", "cmd/internal/*"},
	"cmd/devnet/contracts": {},
	"cmd/devnet/localnet":  {},
	"cmd/devnet/reference": {"shared/chain", "shared/fee", "cmd/devnet/contracts", "cmd/devnet/localnet"},
	"cmd/dev/bench":        {"cmd/internal/*", "shared/chain", "shared/testkit/node", "shared/testkit/quotecheck", "v3/client"},
	"cmd/dev/soak":         {"cmd/internal/*", "shared/chain", "shared/testkit/*", "v3/client"},
	"cmd/dev/generate":     {"shared/chain", "shared/fee"},
	"cmd/quote":            {"shared/chain", "shared/fault", "v3/client", "v3/client/send", "cmd/internal/cli", "cmd/internal/swap"},

	// Go code for tests. Only tests and the commands that measure, load and generate import it.
	"shared/testkit/browser":    {},
	"shared/testkit/clock":      {},
	"shared/testkit/journal":    {},
	"shared/testkit/node":       {},
	"shared/testkit/npm":        {},
	"shared/testkit/pages":      {},
	"shared/testkit/ports":      {},
	"shared/testkit/postgres":   {},
	"shared/testkit/quotecheck": {"shared/chain", "shared/railgun", "v3/client"}, // and nothing that makes quotes
	"gateway/testkit/golden":    {"shared/*", "gateway", "gateway/caller", "gateway/lifecycle", "gateway/limit", "gateway/usage"},
	"gateway/testkit/recorded": {
		"gateway/caller", "gateway/event", "gateway/evidence", "gateway/lifecycle", "gateway/usage",
		"shared/chain", "shared/fault", "shared/humanize", "shared/skew", "shared/testkit/clock", "shared/testkit/journal", "shared/testkit/postgres",
	},
}

func TestImportsPointOneWay(t *testing.T) {
	const module = "github.com/quotegate/quotegate/"
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Doc", "../...").Output()
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
