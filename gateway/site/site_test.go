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
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
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
		if html != strings.HasPrefix(body, "<!DOCTYPE html>") || html == json.Valid([]byte(body)) {
			t.Errorf("%q: got %.80s", accept, body)
		}
	}
}

func TestIndexNamesWhatThereIs(t *testing.T) {
	gw := golden.Gateway(t)
	_, body := ask(t, gw, "GET", "/")
	var index map[string]any
	if err := json.Unmarshal([]byte(body), &index); err != nil {
		t.Fatal(err)
	}
	paths := []string{}
	for _, value := range index {
		switch v := value.(type) {
		case string:
			paths = append(paths, v)
		case map[string]any:
			for _, path := range v {
				paths = append(paths, path.(string))
			}
		}
	}
	found := 0
	for _, path := range paths {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		found++
		// A quote without parameters is refused, and is there.
		if res, _ := ask(t, gw, "GET", path); res.StatusCode != 200 && res.StatusCode != 400 {
			t.Errorf("the index names %s, which answers %d", path, res.StatusCode)
		}
	}
	if found < 8 || index["name"] != "quotegate" || index["status"] != "/"+gateway.Current+"/swap/status" {
		t.Errorf("got the index %s", body)
	}
}

func TestPageIsKept(t *testing.T) {
	gw := golden.Gateway(t)
	for accept := range map[string]bool{browserAccept: true, "application/json": true} {
		res, body := ask(t, gw, "GET", "/", "Accept", accept)
		tag := res.Header.Get("Etag")
		if again, rest := ask(t, gw, "GET", "/", "Accept", accept, "If-None-Match", tag); again.StatusCode != 304 || rest != "" || tag == "" {
			t.Errorf("%s: got %d and %d bytes for its own tag %q", accept, again.StatusCode, len(rest), tag)
		}
		head, _ := ask(t, gw, "HEAD", "/", "Accept", accept)
		if head.StatusCode != 200 || head.Header.Get("Etag") != tag || head.Header.Get("Content-Type") != res.Header.Get("Content-Type") {
			t.Errorf("%s: HEAD gives %d %v", accept, head.StatusCode, head.Header)
		}
		zipped, less := ask(t, gw, "GET", "/", "Accept", accept, "Accept-Encoding", "gzip")
		if zipped.Header.Get("Content-Encoding") != "gzip" || len(body) > 5000 && len(less) > len(body)/2 {
			t.Errorf("%s: got %d bytes compressed, %d without", accept, len(less), len(body))
		}
	}
	for method, path := range map[string]string{"POST": "/", "GET": "/nothing"} {
		res, body := ask(t, gw, method, path, "Accept", browserAccept)
		if want := map[string]int{"POST": 405, "GET": 404}[method]; res.StatusCode != want || !strings.Contains(body, `"requestId"`) {
			t.Errorf("%s %s: got %d %s, want %d in JSON", method, path, res.StatusCode, body, want)
		}
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
	const most = 64_000
	total := 0
	for _, path := range []string{"/", "/v3/client/index.js", "/v3/client/verify.js", "/v3/client/wait.js", "/v3/client/send.js"} {
		_, body := ask(t, gw, "GET", path, "Accept", browserAccept, "Accept-Encoding", "gzip")
		t.Logf("%s: %d bytes", path, len(body))
		total += len(body)
	}
	if total >= most {
		t.Errorf("the page and its checks have %d bytes, want less than %d", total, most)
	}
}

// TestTextIsOnlyText: nothing in the sources turns text into markup or code, or keeps anything.
func TestTextIsOnlyText(t *testing.T) {
	files, err := filepath.Glob("*.js")
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d files and %v", len(files), err)
	}
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|localStorage|sessionStorage|indexedDB|document\.cookie|setAttribute\('on`)
	for _, file := range files {
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
		if lines := strings.Count(string(source), "\n"); lines > 400 {
			t.Errorf("%s has %d lines", file, lines)
		}
	}
}

func TestPageNamesEveryCode(t *testing.T) {
	gw := golden.Gateway(t)
	_, body := ask(t, gw, "GET", "/developers")
	for _, code := range fault.Codes() {
		if !strings.Contains(body, string(code)) {
			t.Errorf("the page does not explain %s", code)
		}
	}
}

// TestListing compares what the page offers with /v3/app/pairs.
func TestListing(t *testing.T) {
	for _, d := range []*chain.Deployment{chain.Reference(), golden.Partial(t)} {
		t.Run(d.Name, func(t *testing.T) { testListing(t, golden.GatewayOf(t, d)) })
	}
}

func testListing(t *testing.T, gw http.Handler) {
	_, body := ask(t, gw, "GET", "/", "Accept", browserAccept)
	var page struct {
		Deployment string
		Versions   []string
		Chains     map[string]string
		Networks   map[string]string
		Coins      map[string][2]string
		Explorers  map[string]string
		Tokens     [][5]any
		Pairs      [][4]json.Number
	}
	decoder := json.NewDecoder(strings.NewReader(elements.FindAllStringSubmatch(body, -1)[3][3]))
	decoder.UseNumber()
	if err := decoder.Decode(&page); err != nil {
		t.Fatal(err)
	}
	_, body = ask(t, gw, "GET", "/v3/app/pairs")
	var list struct {
		Deployment string
		Chains     []struct {
			ChainID        int
			Name           string
			Network        int
			NativeCurrency struct{ Symbol, Name string }
			Explorer       string
		}
		Tokens []struct {
			ChainID, Decimals            int
			Symbol, MinAmount, MaxAmount string
		}
		Pairs []struct {
			SrcChain, DstChain, Seconds int
			SrcToken, DstToken          string
			ProtocolFee                 json.Number
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]bool{}, map[string]bool{}
	for _, token := range page.Tokens {
		got[fmt.Sprintln(token[0], token[1], token[2], token[3], token[4])] = true
	}
	for _, token := range list.Tokens {
		want[fmt.Sprintln(token.ChainID, token.Symbol, token.Decimals, token.MinAmount, token.MaxAmount)] = true
	}
	for _, p := range page.Pairs {
		from, err1 := p[0].Int64()
		to, err2 := p[1].Int64()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		got[fmt.Sprintln(page.Tokens[from][0], page.Tokens[from][1], page.Tokens[to][0], page.Tokens[to][1], p[2], p[3])] = true
	}
	for _, p := range list.Pairs {
		want[fmt.Sprintln(p.SrcChain, p.SrcToken, p.DstChain, p.DstToken, p.ProtocolFee, p.Seconds)] = true
	}
	for _, c := range list.Chains {
		if id := fmt.Sprint(c.ChainID); page.Chains[id] != c.Name || (c.Network != 0) != (page.Networks[id] == fmt.Sprint(c.Network)) {
			t.Errorf("chain %s: got %q on %q", id, page.Chains[id], page.Networks[id])
		}
		if c.Network != 0 {
			continue // its facts are those of its network
		}
		id := fmt.Sprint(c.ChainID)
		coin := cmp.Or(page.Coins[id], [2]string{"ETH", "Ether"})
		if want := c.NativeCurrency; coin != [2]string{want.Symbol, want.Name} || page.Explorers[id] != c.Explorer {
			t.Errorf("chain %s: got %s and %q, want %s and %q", id, coin, page.Explorers[id], want, c.Explorer)
		}
	}
	for key := range got {
		if !want[key] {
			t.Errorf("the page offers %s, which is not in the listing", key)
		}
	}
	if len(page.Pairs) != len(list.Pairs) || len(page.Pairs) < 13 || len(page.Chains) != len(list.Chains) || page.Deployment != list.Deployment || page.Versions[0] != gateway.Current {
		t.Errorf("got %d pairs of %s, want %d of %s", len(page.Pairs), page.Deployment, len(list.Pairs), list.Deployment)
	}
}
