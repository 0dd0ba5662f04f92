package localnet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

// readAll gives the files of a folder that match a pattern, by name.
func readAll(t *testing.T, folder, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("found %q (%v) for %s in %s", paths, err, pattern, folder)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestArtifactsMatchSources: `make contracts` brings the artifacts up to date.
func TestArtifactsMatchSources(t *testing.T) {
	const sources = "../../../testdata/contracts"
	hashes := map[string]string{}
	for name, text := range readAll(t, sources, "*.sol") {
		sum := sha256.Sum256(text)
		hashes[name] = hex.EncodeToString(sum[:])
	}
	var pinned struct{ DevDependencies struct{ Solc string } }
	if err := json.Unmarshal(readAll(t, sources, "package.json")["package.json"], &pinned); err != nil {
		t.Fatal(err)
	}
	compiled := map[string]bool{}
	for name, text := range readAll(t, "../contracts/artifacts", "*.json") {
		var artifact struct {
			Contract, Solc string
			Sources        map[string]string
		}
		if err := json.Unmarshal(text, &artifact); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name != artifact.Contract+".json" || artifact.Sources[artifact.Contract+".sol"] == "" {
			t.Errorf("%s is of %s, from %v", name, artifact.Contract, artifact.Sources)
		}
		if !strings.HasPrefix(artifact.Solc, pinned.DevDependencies.Solc+"+") {
			t.Errorf("%s: compiled by solc %s; package.json pins %s", name, artifact.Solc, pinned.DevDependencies.Solc)
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

// TestSelectors holds the models against what the real contracts answer to.
func TestSelectors(t *testing.T) {
	for _, test := range []struct {
		abi          abi.ABI
		method, want string
	}{
		{contracts.PoolABI, "swap", "095ff22d"},
		{contracts.TokenMessengerABI, "depositForBurnWithHook", "779b432d"},
		{contracts.RailgunABI, "shield", "044a40c3"},
		{contracts.TokenABI, "approve", "095ea7b3"},
		{contracts.TetherLikeTokenABI, "approve", "095ea7b3"},
		{contracts.TransmitterABI, "receiveMessage", "57ecfd28"},
		{contracts.TransmitterABI, "usedNonces", "feb61724"},
	} {
		if got := hex.EncodeToString(test.abi.Methods[test.method].ID); got != test.want {
			t.Errorf("selector of %s: got %s, want %s", test.method, got, test.want)
		}
	}
	got := contracts.RailgunABI.Events["Shield"].ID.Hex()
	if want := "0x3a5b9dc26075a3801a6ddccf95fec485bb7500a91b44cec1add984c21ee6db3b"; got != want {
		t.Errorf("topic of Shield: got %s, want %s", got, want)
	}
}
