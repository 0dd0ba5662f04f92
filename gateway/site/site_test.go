package site_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/site"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/version"
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

// ask asks a gateway, and gives the answer and its body.
func ask(t *testing.T, gw http.Handler, method, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	gw.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

func TestRootAnswersByAccept(t *testing.T) {
	gw := golden.Gateway(t)
	for accept, html := range map[string]bool{
		browserAccept: true, "text/html": true, "TEXT/HTML;Q=0.5": true, "text/html, application/json": true, "application/json;q=0.5, text/html;q=0.6": true,
		"": false, "*/*": false, "application/json": false, "text/html;q=0": false, "text/html;q=x": false, "application/json, text/html;q=0.9": false, "text/plain": false,
	} {
		res, body := ask(t, gw, "GET", "/", "Accept", accept)
		if got := strings.HasPrefix(res.Header.Get("Content-Type"), "text/html"); got != html || res.StatusCode != 200 {
			t.Errorf("%q: got %d %s, want HTML: %t", accept, res.StatusCode, res.Header.Get("Content-Type"), html)
		}
		if got := strings.Join(res.Header.Values("Vary"), ", "); !strings.Contains(got, "Accept,") && !strings.HasSuffix(got, "Accept") {
			t.Errorf("%q: got Vary %s, want Accept in it", accept, got)
		}
		if res.Header.Get("Etag") == "" {
			t.Errorf("%q: the answer has no tag", accept)
		}
		if html != strings.HasPrefix(body, "<!DOCTYPE html>") || html == json.Valid([]byte(body)) {
			t.Errorf("%q: got %.80s", accept, body)
		}
	}
}

func TestIndexNamesWhatThereIs(t *testing.T) {
	gw := golden.Gateway(t)
	_, body := ask(t, gw, "GET", "/")
	paths := regexp.MustCompile(`"(/[^"]*)"`).FindAllStringSubmatch(body, -1)
	for _, path := range paths {
		// A quote without parameters is refused, and is there.
		if res, _ := ask(t, gw, "GET", path[1]); res.StatusCode != 200 && res.StatusCode != 400 {
			t.Errorf("the index names %s, which answers %d", path[1], res.StatusCode)
		}
	}
	if status := `"status":"/` + gateway.Current + `/swap/status"`; len(paths) < 8 || !strings.Contains(body, status) {
		t.Errorf("got the index %s", body)
	}
}

var elements = regexp.MustCompile(`(?s)<(script|style)([^>]*)>(.*?)</`)

// TestPolicy: the policy names the page's own script and style, and what the page may not do.
func TestPolicy(t *testing.T) {
	gw := golden.Gateway(t)
	res, body := ask(t, gw, "GET", "/", "Accept", browserAccept)
	policy := res.Header.Get("Content-Security-Policy")
	found := elements.FindAllStringSubmatch(body, -1)
	if len(found) != 5 {
		t.Fatalf("got %d scripts and styles, want two styles, what runs first, the listing and the module", len(found))
	}
	for _, m := range found {
		sum := sha256.Sum256([]byte(m[3]))
		hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		_, allowed, _ := strings.Cut(policy, m[1]+"-src ")
		allowed, _, _ = strings.Cut(allowed, ";")
		if data := strings.Contains(m[2], "application/json"); strings.Contains(allowed, hash) == data {
			t.Errorf("the policy %s does not fit <%s%s>", policy, m[1], m[2])
		}
	}
	for _, words := range []string{"default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, words) {
			t.Errorf("the policy lacks %s: %s", words, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
		t.Errorf("the policy allows too much: %s", policy)
	}
	if regexp.MustCompile(`\s(on[a-z]+|style)=`).MatchString(body) {
		t.Error("the page has inline handlers or styles, which the policy forbids")
	}
}

// TestPageIsSmall counts what a browser transfers until a quote can be checked and sent.
func TestPageIsSmall(t *testing.T) {
	gw := golden.Gateway(t)
	const most = 64 << 10
	total := 0
	imports := regexp.MustCompile(`from '\./([\w-]+\.js)'`)
	paths := []string{"/", "/v3/client/estimate.js", "/v3/client/index.js", "/v3/client/send.js"}
	for i := 0; i < len(paths); i++ {
		_, source := ask(t, gw, "GET", paths[i], "Accept", browserAccept)
		for _, found := range imports.FindAllStringSubmatch(source, -1) {
			if path := "/v3/client/" + found[1]; !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
		_, body := ask(t, gw, "GET", paths[i], "Accept", browserAccept, "Accept-Encoding", "gzip, deflate, br, zstd")
		t.Logf("%s: %d bytes", paths[i], len(body))
		total += len(body)
	}
	_, page := ask(t, gw, "GET", "/", "Accept", browserAccept)
	for _, path := range paths[1:] {
		if !strings.Contains(page, `<link rel="modulepreload" href="`+path+`">`) {
			t.Errorf("the page does not preload %s, which another round trip asks for", path)
		}
	}
	if got := strings.Count(page, "modulepreload"); got != len(paths)-1 {
		t.Errorf("the page preloads %d files, want the %d that it uses", got, len(paths)-1)
	}
	if total >= most {
		t.Errorf("the page and its checks have %d bytes, want less than %d", total, most)
	}
}

// TestTextIsOnlyText: nothing in the scripts turns text into markup or code, or keeps anything.
func TestTextIsOnlyText(t *testing.T) {
	var scripts []string
	for _, page := range []string{"common", "swap", "developers"} {
		found, err := filepath.Glob(page + "/*.js")
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: got no scripts, %v", page, err)
		}
		scripts = append(scripts, found...)
	}
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|localStorage|` +
		`sessionStorage|indexedDB|document\.cookie|setAttribute\('on`)
	for _, file := range scripts {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.FindAllString(string(source), -1); found != nil {
			t.Errorf("%s: %q", file, found)
		}
		if strings.Contains(string(source), "</") {
			t.Errorf("%s contains </, which may end the script", file)
		}
		for i, line := range strings.Split(string(source), "\n") {
			if strings.Count(line, "`")%2 != 0 {
				t.Errorf("%s:%d: a literal goes over several lines, from which the page takes their indentation", file, i+1)
			}
		}
	}
}

// TestPageNamesEveryCode wants a row for each code in the page for developers, as docs/reference.md has them.
func TestPageNamesEveryCode(t *testing.T) {
	reference, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([45]\d\d) \|([^|]*)\|`).FindAllStringSubmatch(string(reference), -1) {
		for _, code := range regexp.MustCompile("[A-Z_]+").FindAllString(row[2], -1) {
			want = append(want, row[1]+" "+code)
		}
	}
	_, body := ask(t, golden.Gateway(t), "GET", "/developers")
	rows := regexp.MustCompile(`<tr><td>(\d+)</td><td><code>(\w+)</code></td>\s*<td>[A-Z].+\.</td></tr>`)
	for _, row := range rows.FindAllStringSubmatch(body, -1) {
		got = append(got, row[1]+" "+row[2])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(got) < len(fault.Codes()) {
		t.Errorf("the page explains\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestListing compares what the page offers with /v3/app/pairs.
func TestListing(t *testing.T) {
	for _, d := range []*chain.Deployment{chain.Reference(), golden.Partial(t)} {
		d.Contact = "help@example.org"
		gw := golden.GatewayOf(t, d)
		_, page := ask(t, gw, "GET", "/", "Accept", browserAccept)
		_, listing := ask(t, gw, "GET", "/v3/app/pairs")
		got, want := offered(t, elements.FindAllStringSubmatch(page, -1)[3][3]), listed(t, listing)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(want) < 25 {
			t.Errorf("%s: the page offers\n%s\nwant\n%s", d.Name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// offered gives the rows of the listing in the page.
func offered(t *testing.T, text string) (rows []string) {
	var page struct {
		Deployment string
		Contact    string
		Chains     map[string]string
		Networks   map[string]string
		Coins      map[string]string
		Explorers  map[string]string
		Tokens     [][5]any
		Pairs      [][4]json.Number
	}
	decode(t, text, &page)
	for id, name := range page.Chains {
		coin := cmp.Or(page.Coins[id], "ETH")
		if page.Networks[id] != "" {
			coin = ""
		}
		rows = append(rows, fmt.Sprint("chain ", id, name, page.Networks[id], coin, page.Explorers[id]))
	}
	for _, token := range page.Tokens {
		rows = append(rows, fmt.Sprint("token ", token))
	}
	for _, p := range page.Pairs {
		from, _ := strconv.Atoi(p[0].String())
		to, _ := strconv.Atoi(p[1].String())
		rows = append(rows, fmt.Sprint("pair ", page.Tokens[from][:2], page.Tokens[to][:2], p[2:]))
	}
	return append(rows, page.Deployment, page.Contact)
}

// listed gives the rows of /v3/app/pairs in the same form.
func listed(t *testing.T, text string) (rows []string) {
	var list struct {
		Deployment string
		Contact    string
		Chains     []struct {
			ChainID        json.Number
			Name           string
			Network        json.Number
			NativeCurrency struct{ Symbol string }
			Explorer       string
		}
		Tokens []struct {
			ChainID, Decimals            json.Number
			Symbol, MinAmount, MaxAmount string
		}
		Pairs []struct {
			SrcChain, DstChain, Seconds, ProtocolFee json.Number
			SrcToken, DstToken                       string
		}
	}
	decode(t, text, &list)
	for _, c := range list.Chains {
		coin := c.NativeCurrency.Symbol
		if c.Network != "" {
			coin, c.Explorer = "", "" // its facts are those of its network
		}
		rows = append(rows, fmt.Sprint("chain ", c.ChainID.String(), c.Name, c.Network.String(), coin, c.Explorer))
	}
	for _, k := range list.Tokens {
		rows = append(rows, fmt.Sprint("token ", [5]any{k.ChainID, k.Symbol, k.Decimals, k.MinAmount, k.MaxAmount}))
	}
	for _, p := range list.Pairs {
		seconds := cmp.Or(p.Seconds, "0")
		from, to := []any{p.SrcChain, p.SrcToken}, []any{p.DstChain, p.DstToken}
		rows = append(rows, fmt.Sprint("pair ", from, to, []json.Number{p.ProtocolFee, seconds}))
	}
	return append(rows, list.Deployment, list.Contact)
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// TestOperatorIsNamed: name and contact of the deployment are text, and a link where that is safe.
func TestOperatorIsNamed(t *testing.T) {
	for contact, want := range map[string]string{
		"":                       `Operated by Harbour &amp; Co</p>`,
		"help@example.org":       ` · <a href="mailto:help@example.org">help@example.org</a></p>`,
		"https://example.org/?a": ` · <a href="https://example.org/?a" rel="noreferrer">Contact</a></p>`,
		"javascript:alert(1)":    ` · javascript:alert(1)</p>`,
		`https://x"><script>`:    ` · <a href="https://x%22%3e%3cscript%3e" rel="noreferrer">Contact</a></p>`,
		`a@b"><script>`:          ` · a@b&#34;&gt;&lt;script&gt;</p>`,
	} {
		d := chain.Reference()
		d.Name, d.Contact = "Harbour & Co", contact
		pages := serve(t, map[string]version.Handler{
			"/{$}": site.Page(d, []string{"v3"}, "v3"), "/developers": site.Developers(d, []string{"v3"}),
		})
		for _, path := range []string{"/", "/developers"} {
			if _, body := ask(t, pages, "GET", path, "Accept", browserAccept); !strings.Contains(body, want) {
				t.Errorf("%s: the contact %q is not shown as %s", path, contact, want)
			}
		}
	}
}
