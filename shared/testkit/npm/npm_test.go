package npm

import (
	"os"
	"path/filepath"
	"testing"
)

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
