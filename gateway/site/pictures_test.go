package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/shared/testkit/browser"
)

// TestPictures writes docs/page.png if UPDATE_PICTURES is set, and what a person should look at to the folder that
// PICTURES names: every state at three sizes, light and dark.
func TestPictures(t *testing.T) {
	update, folder := os.Getenv("UPDATE_PICTURES") != "", os.Getenv("PICTURES")
	if !update && folder == "" {
		t.Skip("SKIPPED: UPDATE_PICTURES or PICTURES asks for pictures")
	}
	w := newWorld(t, browser.Open(t, "about:blank"))
	usdc := form("USDC@1", "USDC@369", "100", alice, "")
	shoot := func(path, scheme string, size [2]int64, at, script string) {
		t.Helper()
		emulate(t, w, scheme, size[0], size[1])
		w.open(t, at)
		w.tells(settling)
		run[bool](t, w, fast+walletJS+alterJS+script+"; document.activeElement.blur(); scrollTo(0, 0); return true;", sender, usdc)
		data, err := chromedp.Run(w.page.Context(), chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if update && len(data) > 150_000 {
			t.Errorf("%s has %d bytes", path, len(data))
		}
	}
	if update {
		shoot("../../docs/page.png", "light", [2]int64{960, 830}, "", "wallet(); await quote($2); document.documentElement.style.overflow = 'hidden';")
		return
	}
	for name, tt := range states {
		if only := os.Getenv("ONLY"); only != "" && !strings.Contains(only, name) {
			continue
		}
		for size, pixels := range map[string][2]int64{"wide": {1280, 720}, "tablet": {820, 1180}, "phone": {390, 844}} {
			scheme := "light"
			if size == "tablet" {
				scheme = "dark"
			}
			file := strings.ReplaceAll(name, " ", "-") + "-" + size + ".png"
			shoot(filepath.Join(folder, file), scheme, pixels, tt.at, "wallet();"+tt.script)
		}
	}
}
