package npm

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLockfiles: each package.json of the tests has a lockfile that pins all packages by their hash and names no registry,
// so that a machine takes them from the one that it is set to.
func TestLockfiles(t *testing.T) {
	manifests, err := filepath.Glob("../../../testdata/*/package.json")
	if err != nil || len(manifests) < 3 {
		t.Fatalf("found %v: %v", manifests, err)
	}
	for _, path := range manifests {
		type dependencies struct{ Dependencies, DevDependencies map[string]string }
		var manifest dependencies
		readJSON(t, path, &manifest)
		var lock struct {
			Packages map[string]struct {
				dependencies
				Version, Integrity, Resolved string
			}
		}
		path = filepath.Join(filepath.Dir(path), "package-lock.json")
		readJSON(t, path, &lock)
		root := lock.Packages[""]
		if !maps.Equal(root.Dependencies, manifest.Dependencies) ||
			!maps.Equal(root.DevDependencies, manifest.DevDependencies) {
			t.Errorf("%s does not match package.json: run make lockfiles", path)
		}
		delete(lock.Packages, "")
		if len(lock.Packages) < len(manifest.Dependencies)+len(manifest.DevDependencies) {
			t.Errorf("%s has %d packages only", path, len(lock.Packages))
		}
		for name, got := range lock.Packages {
			if got.Version == "" || !strings.HasPrefix(got.Integrity, "sha512-") {
				t.Errorf("%s pins %s to version %q and hash %q", path, name, got.Version, got.Integrity)
			}
			if got.Resolved != "" {
				t.Errorf("%s has %s from %s: run make lockfiles", path, name, got.Resolved)
			}
		}
	}
}

func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// `make packages` runs this before the other long tests, which wait for it.
func TestPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("downloads 500 MB")
	}
	modules := Packages(t)
	if _, err := os.Stat(filepath.Join(modules, "typescript/package.json")); err != nil {
		t.Error(err)
	}
}
