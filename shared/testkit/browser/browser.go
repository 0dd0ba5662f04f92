// Package browser opens pages in a real browser, a headless Chromium, for tests.
//
// What it promises: each page has a browser of its own with an empty profile, which is gone when the test ends; and an
// error on the page's console or a request to another origin fails the test, unless the test asks for these problems.
package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A Page is open in a browser.
type Page struct {
	ctx    context.Context
	cancel func()
	origin string

	collectors sync.WaitGroup
	mu         sync.Mutex
	problems   []string
}

// Open loads an address and waits until it has loaded. Without a Chromium the test is skipped, or fails if CI is set.
func Open(t testing.TB, address string) *Page {
	t.Helper()
	program := find(t)
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir())}
	for _, flag := range []string{
		"headless", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
		"disable-component-update", "disable-sync", "disable-dev-shm-usage",
		// All tabs work at the same time.
		"disable-background-timer-throttling", "disable-renderer-backgrounding",
		"disable-backgrounding-occluded-windows",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium does not start as root without it
	}
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	p := &Page{origin: at.Scheme + "://" + at.Host}
	p.load(t, allocated, address, stop)
	return p
}

// Tab loads an address in another tab of the same browser. Tabs may be used at the same time.
func (p *Page) Tab(t testing.TB, address string) *Page {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	tab := &Page{origin: at.Scheme + "://" + at.Host}
	tab.load(t, p.ctx, address, func() {})
	return tab
}

func (p *Page) load(t testing.TB, parent context.Context, address string, stop func()) {
	t.Helper()
	var closeTab func()
	p.ctx, closeTab = chromedp.NewContext(parent)
	p.cancel = func() { closeTab(); stop() }
	t.Cleanup(func() {
		for _, problem := range p.Close() {
			t.Error(problem)
		}
	})
	if err := p.collect(); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	if err := chromedp.Do(p.ctx, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("there is no Chromium on this machine, and in CI pages must be tested; install the package chromium")
	}
	t.Skip("SKIPPED, NOT TESTED: there is no Chromium on this machine; " +
		"install the package chromium to test in a browser")
	return ""
}

// Context is for actions of chromedp on the page.
func (p *Page) Context() context.Context { return p.ctx }

// Call calls a command of the browser for the page.
func Call[P, R any](t testing.TB, p *Page, method cdp.Command[P, R], params P) (result R) {
	t.Helper()
	err := chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) (err error) {
		result, err = cdp.Call(ctx, tab, method, params)
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Close ends the browser and gives what went wrong on the side: errors on the console, and requests to other origins.
// The test does not fail for what it has been given here.
func (p *Page) Close() []string {
	// The answer comes after all events before it, so that none is lost.
	if p.ctx.Err() == nil {
		if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[int]("1")); err != nil {
			p.add("the page does not answer any more: " + err.Error())
		}
	}
	p.cancel()
	p.collectors.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	problems := p.problems
	p.problems = nil
	return problems
}

func (p *Page) add(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, problem)
}

// collect starts the browser and follows its events until it ends.
func (p *Page) collect() error {
	if err := chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		focus := emulation.SetFocusEmulationEnabledParams{Enabled: true}
		if _, err := cdp.Call(ctx, tab, emulation.SetFocusEmulationEnabled, focus); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, tab, network.Enable, network.EnableParams{})
		return err
	})); err != nil {
		return err
	}
	// Events end with the tab and not with a context, since a cancelled context loses those not read yet.
	endless := context.WithoutCancel(p.ctx)
	messages := chromedp.Console(endless)
	requests := cdp.Events(endless, chromedp.FromContext(p.ctx).Target, network.RequestWillBeSent)
	p.collectors.Go(func() {
		for message, err := range messages {
			if err != nil {
				p.add("the console: " + err.Error())
			} else if message.Type == chromedp.ConsoleError || message.IsException() {
				p.add(fmt.Sprintf("console %s (%s)", message, message.URL))
			}
		}
	})
	p.collectors.Go(func() {
		for event, err := range requests {
			if err != nil {
				p.add("the requests: " + err.Error())
			} else if !p.own(event.Request.URL) {
				p.add("a request to another origin: " + event.Request.URL)
			}
		}
	})
	return nil
}

func (p *Page) own(address string) bool {
	at, err := url.Parse(address)
	if err != nil {
		return false
	}
	return at.Scheme+"://"+at.Host == p.origin || slices.Contains([]string{"about", "blob", "data"}, at.Scheme)
}
