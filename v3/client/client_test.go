package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/v3/client/internal/known"
)

func newClient(t *testing.T, gateway string, options ...Option) *Client {
	t.Helper()
	c, err := New(gateway, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A fakeGateway has the listing of the goldens, and says what a test wants it to.
type fakeGateway struct {
	http.ServeMux
	listings, unmodified int
	mu                   sync.Mutex
}

func (g *fakeGateway) serve(t *testing.T, quote http.HandlerFunc) string {
	t.Helper()
	listing := bodyOf(t, "pairs")
	g.HandleFunc("/v3/app/pairs", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.listings++
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			g.unmodified++
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(listing)
	})
	g.HandleFunc("/v3/swap/quote", quote)
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return server.URL
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestAnswersThatAreNone gives the client everything but an answer that it may sign.
func TestAnswersThatAreNone(t *testing.T) {
	r := read(t, "details").request
	without := string(edit{Path: "details", Drop: true}.apply(t, read(t, "details").body))
	deep := strings.Repeat(`{"to":`, 100_000) + `1` + strings.Repeat("}", 100_000)
	refusal := `{"error":"Too little","code":"AMOUNT_OUT_OF_RANGE","requestId":"7"}`
	for name, test := range map[string]struct {
		status     int
		body       string
		code, says string
	}{
		"a refusal":           {400, refusal, AmountOutOfRange, `the gateway refused: "Too little" ("AMOUNT_OUT_OF_RANGE", request "7")`},
		"another service":     {404, "<html>not here</html>", Unreadable, "status 404, 21 bytes"},
		"JSON of another":     {500, `{"message":"no"}`, Unreadable, "unexpected response"},
		"a redirect":          {302, ``, Unreadable, "status 302, 0 bytes"},
		"not JSON":            {200, "quote", Unreadable, "unexpected response"},
		"another form":        {200, `{"to": 7}`, Unverified, "the response is malformed"},
		"a list":              {200, `[]`, Unreadable, "unexpected response"},
		"decimals out of all": {200, `{"srcToken":{"decimals":1000}}`, Unverified, "the response is malformed"},
		"endless":             {200, `{"to":"` + strings.Repeat("0", maxAnswer) + `"}`, Unreadable, "unexpected response"},
		"nothing":             {200, `{}`, Unverified, "to: it is missing"},
		"too deep":            {200, deep, Unreadable, "unexpected response"},
		"no details":          {200, without, Unverified, "details: missing although requested"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, (&fakeGateway{}).serve(t, says(test.status, test.body)))
			_, err := c.Quote(t.Context(), r)
			wantError(t, err, test.says)
			if e := wantCode(t, err, test.code); e.Status != test.status {
				t.Errorf("got status %d, want %d", e.Status, test.status)
			}
		})
	}
}

// TestWarnedQuotes: a quote of which the gateway itself warns is refused, and the error has the checked quote if nothing
// else is wrong with it.
func TestWarnedQuotes(t *testing.T) {
	g := read(t, "details")
	alter := func(e edit) []byte { return e.apply(t, g.body) }
	for name, test := range map[string]struct {
		body     []byte
		warnings []string
		problems []string // empty if it is accepted
		checked  bool
	}{
		"no warning":         {g.body, nil, nil, true},
		"an empty one":       {g.body, []string{""}, nil, true},
		"a warning":          {g.body, []string{"do not sign"}, []string{`the gateway itself warns: "do not sign"`}, true},
		"the second of two":  {g.body, []string{"", "do not"}, []string{`the gateway itself warns: ", do not"`}, true},
		"another amount too": {alter(edit{Path: "destAmount", Set: json.RawMessage(`"1"`)}), []string{"no"}, []string{`the gateway itself warns: "no"`, "A different amount would arrive. "}, false},
		"no details either":  {alter(edit{Path: "details", Drop: true}), []string{"no"}, []string{`the gateway itself warns: "no"`, "details: "}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, (&fakeGateway{}).serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Quote-Warning"] = test.warnings
				says(200, string(test.body))(w, r)
			}))
			got, err := c.Quote(t.Context(), g.request)
			if test.problems != nil {
				e := wantCode(t, err, Unverified)
				if len(e.Problems) < len(test.problems) || got != nil || e.Status != 200 {
					t.Fatalf("got %+v and %+v", got, e)
				}
				for i, want := range test.problems {
					if !strings.HasPrefix(e.Problems[i], want) {
						t.Errorf("got the problems %q, want %q", e.Problems, test.problems)
					}
				}
				wantError(t, err, test.problems[0])
				got = e.Checked
			} else if err != nil {
				t.Fatal(err)
			}
			if !test.checked {
				if got != nil {
					t.Errorf("got a result of what is not right: %+v", got)
				}
				return
			}
			want, err := Verify(g.request, g.body, listed(t))
			if err != nil {
				t.Fatal(err)
			}
			if got.Expires.IsZero() {
				t.Error("it never expires")
			}
			if isRefused := got.Client() == nil; isRefused != (got.Warning != "") {
				t.Errorf("got the warning %q", got.Warning)
			}
			got.Expires = time.Time{}
			got.Warning = ""
			got.origin = nil
			if got.Pair = want.Pair; !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestErrorFields: what a caller needs to go on is in the error.
func TestErrorFields(t *testing.T) {
	c := newClient(t, (&fakeGateway{}).serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "17")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"No","code":"UNSUPPORTED_PAIR","requestId":"7","param":"dstChain","reason":"ZERO","minAmount":"10","maxAmount":"20",
			"successor":"/v3","until":"2027-01-01T00:00:00Z","alternatives":[{"dstChain":"369","dstToken":"USDC"}],"newer":{"words":true}}`)
	}))
	_, err := c.Quote(t.Context(), read(t, "direct").request)
	e := wantCode(t, err, UnsupportedPair)
	got := fmt.Sprint(e.Message, e.Status, e.RequestID, e.Param, e.Reason, e.MinAmount, e.MaxAmount.Int(), e.Successor, e.Until, e.Alternatives, e.RetryAfter)
	want := fmt.Sprint("No", 400, "7", "dstChain", "ZERO", "10", "20", "/v3", "2027-01-01T00:00:00Z", []Alternative{{"369", "USDC"}}, 17*time.Second)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCodes: every code of the gateway has its name here.
func TestCodes(t *testing.T) {
	source, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range fault.Codes() {
		if !strings.Contains(string(source), `= "`+string(code)+`"`) {
			t.Errorf("the code %s has no name", code)
		}
	}
}

// TestVersion: both languages are one client, with one version.
func TestVersion(t *testing.T) {
	data, err := os.ReadFile("npm/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var npm struct{ Version string }
	if err := json.Unmarshal(data, &npm); err != nil || npm.Version != Version {
		t.Errorf("got %q and %v, and this is %s", npm.Version, err, Version)
	}
	for least, older := range map[string]bool{"1.0.0": false, "": false, "0.9.9": false, "x": false, "99": true, "99.0.0": true, "1.99.0": true} {
		if got := isOlder("1.0.5", least); got != older {
			t.Errorf("%q: got %v", least, got)
		}
	}
}

func TestOutdated(t *testing.T) {
	listing := strings.Replace(string(bodyOf(t, "pairs")), `"client": "`, `"client": "99.`, 1)
	server := httptest.NewServer(says(200, listing))
	defer server.Close()
	_, err := newClient(t, server.URL).Quote(t.Context(), read(t, "direct").request)
	if e := wantCode(t, err, Outdated); !strings.HasPrefix(e.Needs, "99.") {
		t.Errorf("got %+v", e)
	}
}

// TestListingIsKept asks for it once while it lasts, then with its tag, and not at all where one is pinned.
func TestListingIsKept(t *testing.T) {
	g := read(t, "details")
	answer := says(200, string(g.body))
	gateway := &fakeGateway{}
	c := newClient(t, gateway.serve(t, answer))
	for range 3 {
		if _, err := c.Quote(t.Context(), g.request); err != nil {
			t.Fatal(err)
		}
	}
	if gateway.listings != 3 || gateway.unmodified != 2 {
		t.Errorf("asked %d times, and %d times there was nothing new", gateway.listings, gateway.unmodified)
	}
	other := &fakeGateway{}
	c = newClient(t, other.serve(t, answer), WithPinned(Pinned{Listing: listed(t).Listing}))
	if _, err := c.Quote(t.Context(), g.request); err != nil || other.listings != 0 {
		t.Errorf("got %v, asked %d times", err, other.listings)
	}
	for head, want := range map[string]time.Duration{"public, max-age=60": time.Minute, "max-age=5, public": 5 * time.Second, "no-store": 0, "max-age=9999999": 0} {
		if got := maxAge(http.Header{"Cache-Control": {head}}); got != want {
			t.Errorf("%s: got %s", head, got)
		}
	}
}

// transport answers requests without a network.
type transport func(*http.Request) (status int, header http.Header, body string)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	status, header, body := f(r)
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// TestListingLasts as long as the gateway says, and no longer.
func TestListingLasts(t *testing.T) {
	body := string(bodyOf(t, "pairs"))
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := newClient(t, "https://gateway.example", WithHTTP(&http.Client{Transport: transport(
			func(*http.Request) (int, http.Header, string) {
				asked++
				return 200, http.Header{"Cache-Control": {"public, max-age=60"}}, body
			})}))
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{0, 1}, {59 * time.Second, 1}, {time.Second, 2}, {59 * time.Second, 2}, {time.Second, 3}} {
			time.Sleep(step.wait)
			if _, err := c.Pairs(t.Context()); err != nil || asked != step.want {
				t.Errorf("after %s: got %v, asked %d times, want %d", step.wait, err, asked, step.want)
			}
		}
	})
}

// TestNewestListingStays: the answer to an earlier question may arrive after that to a later one.
func TestNewestListingStays(t *testing.T) {
	older := string(bodyOf(t, "pairs"))
	newer := strings.Replace(older, `"deployment": "`, `"deployment": "new-`, 1)
	for name, late := range map[string]int{"nothing new": http.StatusNotModified, "the older one": http.StatusOK} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := newClient(t, "https://gateway.example", WithHTTP(&http.Client{Transport: transport(
				func(*http.Request) (int, http.Header, string) {
					asked++
					header := http.Header{"Etag": {fmt.Sprintf(`"%d"`, min(asked, 3))}}
					switch asked {
					case 1:
						return http.StatusOK, header, older
					case 2:
						time.Sleep(time.Second)
						return late, header, older
					}
					return http.StatusOK, header, newer
				})}))
			if _, err := c.Pairs(t.Context()); err != nil {
				t.Fatal(err)
			}
			answers := make(chan *Listing, 1)
			go func() {
				l, err := c.Pairs(t.Context())
				if err != nil {
					t.Error(err)
				}
				answers <- l
			}()
			synctest.Wait()
			if l, err := c.Pairs(t.Context()); err != nil || !strings.HasPrefix(l.Deployment, "new-") {
				t.Errorf("%s: got %v", name, err)
			}
			if l := <-answers; l == nil || !strings.HasPrefix(l.Deployment, "new-") || c.kept.Listing != l || c.kept.tag != `"3"` {
				t.Errorf("%s: the newer listing was replaced; its tag is %s", name, c.kept.tag)
			}
		})
	}
}

// TestWarnings: what the gateway says of the request, and what its reading of the recipient means.
func TestWarnings(t *testing.T) {
	g := read(t, "from-allowed-enough")
	g.body = edit{
		Path: "details.checks.recipient", Set: json.RawMessage(`{"source":true,"destination":false}`),
	}.apply(t, g.body)
	c := newClient(t, (&fakeGateway{}).serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Request-Warning", `slippage is ignored"`+"\t VERIFIED BY AUDITOR, "+strings.Repeat("x", 100))
		_, _ = w.Write(g.body)
	}))
	checked, err := c.Quote(t.Context(), g.request)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`the gateway warns: "slippage is ignored'` + "\ufffd VERIFIED BY AUDIT…xxxxxxxxxxxxxxxxxxxx\"",
		"the recipient has code on chain 1 and none on chain 369: " +
			"if it is a smart account, make sure that it is yours on both",
	}
	if !slices.Equal(checked.Warnings, want) {
		t.Errorf("got  %q\nwant %q", checked.Warnings, want)
	}
}

// TestQuoted: the same texts are in TestOneVerdict, where JavaScript has to write them in the same way.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      `""`,
		`a "quoted" word`:                       `"a 'quoted' word"`,
		"a\nb\x00c\u202ed\u2066e\u200bf\ufeffg": `"a�b�c�d�e�f�g"`,
		"\u05e9\u05dc 100":                      `"�� 100"`,
		"é…—\U0001F600":                         `"é…—` + "\U0001F600\"",
		strings.Repeat("x", 60):                 `"` + strings.Repeat("x", 60) + `"`,
		strings.Repeat("x", 41) + "y" + strings.Repeat("z", 19): `"` + strings.Repeat("x", 39) + `…y` + strings.Repeat("z", 19) + `"`,
		"\xff\xfe": `"��"`,
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestPinnedRouters: a gateway cannot name another contract than the reviewed one, in quote and listing alike.
func TestPinnedRouters(t *testing.T) {
	g := read(t, "details")
	const evil = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	truth := checkedQuote(t, "details").Main.To.Hex()
	lie := func(text []byte) string {
		text = []byte(strings.ReplaceAll(string(text), truth, evil))
		return strings.ReplaceAll(string(text), strings.ToLower(truth[2:]), strings.ToLower(evil[2:]))
	}
	server := http.NewServeMux()
	server.HandleFunc("/v3/app/pairs", says(200, lie(bodyOf(t, "pairs"))))
	server.HandleFunc("/v3/swap/quote", says(200, lie(g.body)))
	s := httptest.NewServer(server)
	defer s.Close()
	if _, err := newClient(t, s.URL).Quote(t.Context(), g.request); err != nil {
		t.Errorf("got %v; without a pin, nobody can tell", err)
	}
	_, err := newClient(t, s.URL, WithPinned(Pinned{Routers: pinned(t).Routers})).Quote(t.Context(), g.request)
	wantCode(t, err, Unverified)
	wantError(t, err, "You would pay a different contract. Quote: 0xfb69…d359 · expected: 0x2ad5…229d (to)")
}

// TestPinnedMessenger: a burn goes to another messenger than the issuer's only where that was reviewed.
func TestPinnedMessenger(t *testing.T) {
	const other = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	g := read(t, "details-burn")
	messenger := known.Messenger.Hex()
	elsewhere := strings.NewReplacer(messenger, other, strings.ToLower(messenger[2:]), strings.ToLower(other[2:]))
	answer := []byte(elsewhere.Replace(string(g.body)))
	listing, err := ParseListing([]byte(elsewhere.Replace(string(bodyOf(t, "pairs")))))
	if err != nil {
		t.Fatal(err)
	}
	routers, err := ParseRouters([]byte(elsewhere.Replace(string(bodyOf(t, "routers")))))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Verify(g.request, answer, Known{Listing: listing})
	wantError(t, err, "is not the issuer's TokenMessenger, "+messenger)
	checked, err := Verify(g.request, answer, Known{Listing: listing, Routers: routers})
	if err != nil || checked.Main.To.Hex() != other {
		t.Errorf("got %+v, %v, want the one that was reviewed", checked, err)
	}
}

// TestExpires is by this machine's clock, whatever the gateway's says.
func TestExpires(t *testing.T) {
	asked := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for seconds, want := range map[uint64]time.Duration{0: 0, 60: time.Minute, 86400: 24 * time.Hour, 1 << 60: 24 * time.Hour} {
		d := &Details{ValidUntil: "2026-11-15T09:00:00Z", ValidForSeconds: seconds}
		if got := d.expires(asked).Sub(asked); got != want {
			t.Errorf("%d seconds: got %s, want %s", seconds, got, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "4000000000": longestRest, "99999999999999": longestRest,
		"Sun, 15 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sun, 15 Nov 2026 11:00:00 GMT": 0, "Mon, 15 Nov 2027 12:00:00 GMT": longestRest,
	} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	head := http.Header{"Retry-After": {"Sun, 15 Nov 2026 12:00:30 GMT"}, "Date": {"Sun, 15 Nov 2026 12:00:20 GMT"}}
	if got := retryAfter(head, now); got != 10*time.Second {
		t.Errorf("got %s by the gateway's clock", got)
	}
	behind := http.Header{"Retry-After": {"Sun, 15 Nov 2026 11:00:30 GMT"}, "Date": {"Sun, 15 Nov 2026 11:00:00 GMT"}}
	if got := retryAfter(behind, now); got != 30*time.Second {
		t.Errorf("got %s by the gateway's clock, which is behind this one", got)
	}
}

// TestContext: the context counts for everything that a call does, and its cause comes back.
func TestContext(t *testing.T) {
	r := read(t, "direct").request
	hangs := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-hangs }))
	defer server.Close()
	defer close(hangs)
	enough := errors.New("the bot was told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	_, err := newClient(t, server.URL).Quote(ctx, r)
	if !errors.Is(err, enough) {
		t.Errorf("got %v, want the cause", err)
	}
	_, err = newClient(t, server.URL, WithTimeout(time.Millisecond)).Quote(t.Context(), r)
	if wantCode(t, err, Unreachable); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the time was up", err)
	}
}

// TestUnreachable: the cause says why.
func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	_, err := newClient(t, server.URL).Pairs(t.Context())
	var refused *net.OpError
	if wantCode(t, err, Unreachable); !errors.As(err, &refused) {
		t.Errorf("got %v, want the error of the network", err)
	}
	for _, address := range []string{"", "gateway.example", "ftp://gateway.example", "http://", "https://gateway.example/?a=b", "http://a b"} {
		_, err := New(address)
		wantCode(t, err, InvalidRequest)
	}
}

// TestHeaders: the key is sent, and the address may have a path or a slash at its end.
func TestHeaders(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("API-Key")+" "+r.Header.Get("Accept"))
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	}))
	defer server.Close()
	_, err := newClient(t, server.URL+"/gateway/", WithAPIKey("secret"), WithHTTP(server.Client())).Pairs(t.Context())
	if wantCode(t, err, Unreadable); len(got) != 1 || got[0] != "/gateway/v3/app/pairs secret application/json" {
		t.Errorf("got %q", got)
	}
}
