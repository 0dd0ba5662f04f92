package lifecycle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// Inspect says what a Keeper would say, and lets no sunset pass.
func TestInspect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.json")
	text := `{"versions": {"v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/v1", "gate": {"maxClients": 5, "maxCallsPerDay": 100}}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	after := time.Date(2027, 3, 2, 0, 0, 0, 0, time.UTC)
	counts := &usage{}
	got, err := lifecycle.Inspect(file, served, counts, after)
	if err != nil {
		t.Fatal(err)
	}
	v1 := got.Versions[len(got.Versions)-1]
	if v1.Version != "v1" || v1.Stage != lifecycle.Held || v1.Gate == nil || v1.Gate.Holds || got.Hash == "" || got.File != file {
		t.Errorf("got %+v with the gate %+v", got, v1.Gate)
	}
	counts.releases.Range(func(key, _ any) bool { t.Errorf("the gate of %v was released", key); return true })
	if counts.plan.Load() != nil {
		t.Error("an inspected plan was announced as followed")
	}
	counts.clients.Store(9)
	if got, err := lifecycle.Inspect(file, served, counts, after); err != nil || !got.Versions[len(got.Versions)-1].Gate.Holds {
		t.Errorf("got %+v and %v with 9 clients, want a gate that holds", got, err)
	}
	if got, err := lifecycle.Inspect("", served, counts, after); err != nil || got.Hash != "" || len(got.Versions) != len(served) || got.Versions[0].Stage != lifecycle.Active {
		t.Errorf("got %+v and %v without a plan", got, err)
	}
	if _, err := lifecycle.Inspect(file+"x", served, counts, after); err == nil || !strings.HasPrefix(err.Error(), "LIFECYCLE_FILE: ") {
		t.Errorf("got %v for a file that is not there", err)
	}
}
