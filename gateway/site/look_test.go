package site_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/testkit/browser"
	"github.com/quotegate/quotegate/shared/testkit/npm"
)

// sizes are a laptop and a phone.
var sizes = [][2]int64{{1280, 720}, {390, 844}}

// states are what a visitor may see, by the name of the script in testdata that brings a page there.
var states = []string{
	"form", "errors", "quote", "refused", "shield", "unshield", "signing", "on its way", "late", "unclear",
	"failed", "not a swap", "not found", "done", "first of two", "developers",
}

// at gives the address of a state.
func at(state string) string {
	return map[bool]string{true: "developers"}[state == "developers"]
}

// accessible: the rules of WCAG in every state, in light and dark, on a wide screen and a narrow phone.
func accessible(t *testing.T, w *world) {
	axe, err := os.ReadFile(filepath.Join(npm.Packages(t), "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		t.Run(state, func(t *testing.T) {
			w.tells(settling)
			w.answer("/versions", replies(200, plans))
			emulate(t, w, "light", 1440, 900)
			w.open(t, at(state))
			if _, err := chromedp.Run(w.page.Context(), chromedp.Evaluate[bool](string(axe)+"; true")); err != nil {
				t.Fatal(err)
			}
			play[any](t, w, "go to", state)
			problems := play[[]string](t, w, "accessible", true)
			emulate(t, w, "dark", 320, 800)
			problems = append(problems, play[[]string](t, w, "accessible", false)...)
			problems = append(problems, play[[]string](t, w, "names amiss")...)
			for _, problem := range problems {
				t.Error(problem)
			}
		})
	}
}

// layouts: what decides is seen without scrolling, the card is one and centred, and nothing moves while the page loads,
// asks, answers, sends and settles.
func layouts(t *testing.T, w *world) {
	for _, size := range sizes {
		emulate(t, w, "light", size[0], size[1])
		still := func(name, at string, want ...string) row {
			return row{
				name: fmt.Sprint(name, " at ", size[0]), at: at, statuses: []string{quick},
				script: "still while " + name, want: append(want, "shifts: little"),
			}
		}
		w.check(t,
			still("it quotes", "", "empty: fits", "connected: fits", "quoted: fits", "finger: true"),
			still("it swaps", "", "sent: fits"),
			still("a link is quoted", link),
			still("a transaction is followed", "?chain=1&tx="+hash, "sent: fits"),
			still("a swap is late", "?chain=1&tx="+hash),
			still("a swap fails", "?chain=1&tx="+hash, "alert: The"),
			still("a swap arrives", "?chain=1&tx="+hash),
		)
	}
	// A real mouse right after typing: the button stays where it is between press and release.
	w.open(t, "?recipient="+alice)
	act(t, w, chromedp.Focus(chromedp.CSS("#amount")), chromedp.KeyEvent("100"))
	place := play[[]float64](t, w, "where the button is")
	act(t, w, chromedp.MouseClickXY(place[0], place[1]))
	w.check(t,
		row{name: "pressed", stays: true, script: "was pressed where it was", want: []string{"moves: true"}},
		row{name: "typing moves nothing", stays: true, script: "types and looks", want: []string{"tops: 1"}},
	)
}

// media: a receipt on paper, nothing that moves for those who ask for that, and an explanation without scripts.
func media(t *testing.T, w *world) {
	w.check(t, row{name: "receipt", at: byLink, statuses: []string{settled}, script: "is complete"})
	emulateMedia(t, w, "print", "prefers-color-scheme", "light")
	paper := play[string](t, w, "paper")
	wantWords(t, paper, hash, payout, w.url+"/#swap="+hash, alice)
	for _, word := range []string{"Review swap", "Developers", "Sent on", "Copy"} {
		if strings.Contains(paper, word) {
			t.Errorf("a printed receipt says %q", word)
		}
	}
	pdf := browser.Call(t, w.page, page.PrintToPDF, page.PrintToPDFParams{}).Data
	if pages := bytes.Count(pdf, []byte("/Type /Page\n")); pages != 1 {
		t.Errorf("a receipt is printed on %d pages", pages)
	}
	emulateMedia(t, w, "", "prefers-reduced-motion", "no-preference")
	w.check(t, row{
		name: "motion", at: byLink, statuses: []string{pending}, script: "is sent, and moves", want: []string{"moves: true"},
	})
	emulateMedia(t, w, "", "prefers-reduced-motion", "reduce")
	w.check(t, row{name: "no motion", stays: true, script: "animations", want: []string{"moves: false"}})

	browser.Call(t, w.page, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	act(t, w, chromedp.Navigate(w.url+"/"))
	got := play[string](t, w, "main and what is dead")
	browser.Call(t, w.page, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
	wantWords(t, got, "needs JavaScript", "/v3/openapi.yaml", "0 dead")
}

// announcements: each step is said once to who does not see the page, and the focus stays with the person.
func announcements(t *testing.T, w *world) {
	arrives := []string{`{"state": "PENDING", "nextCheckSeconds": 1}`, `{"state": "PENDING", "nextCheckSeconds": 1}`, quick, settled}
	w.check(t,
		row{name: "heard once", statuses: arrives, script: "hears each step", want: []string{"heard: 1,1,1,1,1,1"}},
		row{
			name: "typing goes on", at: byLink, statuses: arrives, script: "types while it settles",
			want: []string{"focus: tx\n"},
		},
		row{
			name: "button stays", at: byLink, statuses: arrives, script: "holds a button while it settles",
			want: []string{"focus: new\n"},
		},
		row{
			name: "connected", script: "connects and disconnects",
			want: []string{"menu: ", "0x9d78…61F1", "focus: Connect Test wallet"},
		},
	)
}

// TestPictures writes docs/page.png if UPDATE_PICTURES is set. Else it writes every state, or those of STATES, to the
// folder that PICTURES names.
func TestPictures(t *testing.T) {
	update, folder := os.Getenv("UPDATE_PICTURES") != "", os.Getenv("PICTURES")
	if !update && folder == "" {
		t.Skip("SKIPPED: UPDATE_PICTURES or PICTURES asks for pictures")
	}
	w := newWorld(t, browser.Open(t, "about:blank"), golden.GatewayOf(t, ownDeployment(t)))
	shoot := func(path, scheme string, size [2]int64, state, script string, sharper ...chromedp.EmulateViewportOption) {
		t.Helper()
		emulate(t, w, scheme, size[0], size[1], sharper...)
		w.tells(settling)
		w.answer("/versions", replies(200, plans))
		w.open(t, at(state))
		play[any](t, w, script, state)
		data, err := chromedp.Run(w.page.Context(), chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if update {
		shoot("../../docs/page.png", "light", [2]int64{960, 1090}, "quote", "poses with a quote", chromedp.EmulateScale(2))
		return
	}
	for _, state := range states {
		if only := os.Getenv("STATES"); only != "" && !slices.Contains(strings.Split(only, ","), state) {
			continue
		}
		for i, size := range [][2]int64{{1440, 900}, {820, 1180}, {390, 844}, {320, 800}} {
			for _, scheme := range []string{"light", "dark"}[i%2:] {
				file := fmt.Sprintf("%s-%d-%s.png", strings.ReplaceAll(state, " ", "-"), size[0], scheme)
				shoot(filepath.Join(folder, file), scheme, size, state, "poses for a picture")
			}
		}
	}
}
