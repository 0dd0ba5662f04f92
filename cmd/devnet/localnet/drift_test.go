package localnet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

// The artifacts are what the sources in the tree compile to; `make contracts` brings them up to date.
func TestArtifactsMatchSources(t *testing.T) {
	sources, artifacts := os.DirFS("../../../testdata/contracts"), os.DirFS("../contracts/artifacts")
	read := func(dir fs.FS, name string, into any) {
		t.Helper()
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	glob := func(dir fs.FS, pattern string) []string {
		t.Helper()
		names, err := fs.Glob(dir, pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 {
			t.Fatalf("nothing matches %s", pattern)
		}
		return names
	}

	hashes := make(map[string]string)
	for _, name := range glob(sources, "*.sol") {
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		hashes[name] = hex.EncodeToString(sum[:])
	}
	var pinned struct{ DevDependencies struct{ Solc string } }
	read(sources, "package.json", &pinned)

	compiled := make(map[string]bool)
	for _, name := range glob(artifacts, "*.json") {
		var artifact struct {
			Contract, Solc string
			Sources        map[string]string
		}
		read(artifacts, name, &artifact)
		if want := artifact.Contract + ".json"; name != want {
			t.Errorf("%s is named as if it were not %s", name, want)
		}
		if !strings.HasPrefix(artifact.Solc, pinned.DevDependencies.Solc+"+") {
			t.Errorf("%s was compiled by solc %s, package.json pins %s", name, artifact.Solc, pinned.DevDependencies.Solc)
		}
		if artifact.Sources[artifact.Contract+".sol"] == "" {
			t.Errorf("%s has no source", name)
		}
		for source, hash := range artifact.Sources {
			compiled[source] = true
			if hashes[source] != hash {
				t.Errorf("%s was compiled from another %s", name, source)
			}
		}
	}
	for source := range hashes {
		if !compiled[source] {
			t.Errorf("%s is compiled into nothing", source)
		}
	}
}

func TestSelectors(t *testing.T) {
	for method, test := range map[string]struct {
		abi  abi.ABI
		want string
	}{
		"swap":                   {contracts.PoolABI, "095ff22d"},
		"depositForBurnWithHook": {contracts.TokenMessengerABI, "779b432d"},
		"shield":                 {contracts.RailgunABI, "044a40c3"},
		"approve":                {contracts.TokenABI, "095ea7b3"},
		"receiveMessage":         {contracts.TransmitterABI, "57ecfd28"},
		"usedNonces":             {contracts.TransmitterABI, "feb61724"},
	} {
		if got := hex.EncodeToString(test.abi.Methods[method].ID); got != test.want {
			t.Errorf("selector of %s: got %s, want %s", method, got, test.want)
		}
	}
	if got, want := hex.EncodeToString(contracts.TetherLikeTokenABI.Methods["approve"].ID), "095ea7b3"; got != want {
		t.Errorf("selector of the tether's approve: got %s, want %s", got, want)
	}
	got := contracts.RailgunABI.Events["Shield"].ID.Hex()
	if want := "0x3a5b9dc26075a3801a6ddccf95fec485bb7500a91b44cec1add984c21ee6db3b"; got != want {
		t.Errorf("topic of Shield: got %s, want %s", got, want)
	}
}
