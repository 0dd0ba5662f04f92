package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/shared/testkit/browser"
)

func serve(t *testing.T, page string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

func TestPage(t *testing.T) {
	page := browser.Open(t, serve(t, `<title>quotes</title><script>console.log("fine"); console.warn("fine too"); fetch("/own")</script>`))
	title, err := chromedp.Run(page.Context(), chromedp.Title())
	if err != nil || title != "quotes" {
		t.Errorf("got title %q and %v", title, err)
	}
	if problems := page.Close(); len(problems) != 0 {
		t.Errorf("got problems %q on a page without any", problems)
	}
}

func TestProblems(t *testing.T) {
	other := serve(t, "elsewhere")
	page := browser.Open(t, serve(t, fmt.Sprintf(`<script>
		console.error("told");
		fetch(%q, {mode: "no-cors"});
		throw new Error("thrown");
	</script>`, other+"other")))
	problems := page.Close()
	for _, words := range []string{"told", "thrown", "a request to another origin: " + other + "other"} {
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, words) }) {
			t.Errorf("got problems %q, want one that says %q", problems, words)
		}
	}
	if len(problems) != 3 {
		t.Errorf("got %d problems, want 3: %q", len(problems), problems)
	}
	if again := page.Close(); len(again) != 0 {
		t.Errorf("got the same problems again: %q", again)
	}
}
