package main

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
)

// wantListed compares headers with the first column of a table of docs/reference.md, both
// ways. What net/http adds by itself does not count.
func wantListed(t *testing.T, chapter string, seen map[string]bool) {
	t.Helper()
	_, text, found := strings.Cut(readText(t, "../../docs/reference.md"), "\n## "+chapter+"\n")
	if !found {
		t.Fatalf("docs/reference.md has no chapter %q", chapter)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	listed := map[string]bool{}
	for row := range strings.Lines(text) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			listed[http.CanonicalHeaderKey(name[1])] = true
		}
	}
	for _, name := range []string{"Connection", "Transfer-Encoding", "Content-Length", "Date"} {
		delete(listed, name)
		delete(seen, name)
	}
	if !maps.Equal(listed, seen) {
		t.Errorf("%s: docs/reference.md lists\n%v\nand these occur:\n%v", chapter,
			slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(seen)))
	}
}

// Every kind of answer of both listeners has the headers that the page lists.
func TestHeadersOfAnswersAreListed(t *testing.T) {
	version, quotes := oldest(t)
	in := func(days int) string { return time.Now().AddDate(0, 0, days).UTC().Format(time.RFC3339) }
	plan := planOf(version, in(60), `, "brownouts": [{"from": "`+in(30)+`", "to": "`+in(31)+`", "share": 0.5}]`)
	unknown, _ := caller.NewKey()
	_, hash := caller.NewKey()
	const secret = "0123456789abcdef"
	base, admin, _ := start(t, environment{
		"LIFECYCLE_FILE": tempFile(t, plan),
		"CLIENTS_FILE":   tempFile(t, `{"clients": [{"name": "Acme", "keys": ["`+hash+`"]}]}`),
		"ADMIN_TOKEN":    secret, "RATE_LIMIT": "20",
	})
	seen := map[string]bool{}
	request := func(method, url string, headers ...string) {
		t.Helper()
		res, _, err := askAs(method, url, headers...)
		if err != nil {
			t.Fatal(err)
		}
		for name := range res.Header {
			seen[name] = true
		}
	}
	origin := []string{"Origin", "https://wallet.example"}
	request("GET", base+quotePath+"&integratorID=1", origin...)
	request("GET", base+quotes+quoteQuery, "API-Rehearse", "retired")
	request("GET", base+quotePath, "API-Key", unknown)
	request("POST", base+quotePath)
	request("OPTIONS", base+quotePath, append(origin,
		"Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "api-key")...)
	request("GET", base+"/v3/app/pairs", "Accept-Encoding", "gzip")
	request("GET", base+"/", "Accept", "text/html")
	request("GET", base+"/nowhere")
	for range 20 {
		request("GET", base+quotePath) // until it is 429
	}
	wantListed(t, "Response headers", seen)

	seen = map[string]bool{}
	token := []string{"Authorization", "Bearer " + secret}
	request("GET", admin+"/")
	request("GET", admin+"/", append(token, "Accept", "text/html")...)
	request("GET", admin+"/metrics", token...)
	request("GET", admin+"/admin/usage.csv", token...)
	request("POST", admin+"/admin/lifecycle", token...)
	request("GET", admin+"/nowhere", token...)
	wantListed(t, "Admin response headers", seen)
}
