package gateway_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/web"
)

// TestRelease: service, contract files, client package and both lists of changes name the same release.
func TestRelease(t *testing.T) {
	var manifest struct{ Version string }
	text, err := os.ReadFile("../v3/client/package.json")
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil || manifest.Version != web.Release {
		t.Errorf("the client package is %q, and the service is %q: %v", manifest.Version, web.Release, err)
	}
	for _, page := range []string{"../docs/CHANGELOG.md", "../docs/changes.md"} {
		text, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(text), "\n## "+web.Release) {
			t.Errorf("%s has no heading of release %s: %v", page, web.Release, err)
		}
	}
	gw := mount(t, setup{})
	var document struct {
		Release  string
		Versions []struct{ Contract string }
	}
	if err := json.Unmarshal(ask(gw, "/versions").Body.Bytes(), &document); err != nil || document.Release != web.Release {
		t.Errorf("/versions has release %q: %v", document.Release, err)
	}
	if len(document.Versions) == 0 {
		t.Error("/versions lists no version")
	}
	for _, v := range document.Versions {
		if contract := ask(gw, v.Contract).Body.String(); !strings.Contains(contract, "\n  x-release: "+web.Release+"\n") {
			t.Errorf("%s does not have x-release: %s", v.Contract, web.Release)
		}
	}
}
