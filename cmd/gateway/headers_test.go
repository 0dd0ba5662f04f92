package main

import (
	"bufio"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
)

// listedHeaders are the names in the first column of a table of docs/reference.md.
func listedHeaders(t *testing.T, chapter string) (names []string) {
	t.Helper()
	_, text, found := strings.Cut(readText(t, "../../docs/reference.md"), "\n## "+chapter+"\n")
	if !found {
		t.Fatalf("docs/reference.md has no chapter %q", chapter)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	quoted := regexp.MustCompile("`([^`]+)`")
	for row := range strings.Lines(text) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		for _, name := range quoted.FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			names = append(names, http.CanonicalHeaderKey(name[1]))
		}
	}
	return names
}

// sentHeaders asks over a connection of its own and adds the headers of the answer, as they came, to seen.
func sentHeaders(t *testing.T, base, request string, seen map[string]bool, headers ...string) {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	text := request + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
	for _, header := range headers {
		text += header + "\r\n"
	}
	if _, err := io.WriteString(connection, text+"\r\n"); err != nil {
		t.Fatal(err)
	}
	reader := textproto.NewReader(bufio.NewReader(connection))
	if _, err := reader.ReadLine(); err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	answer, err := reader.ReadMIMEHeader()
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	for name := range answer {
		seen[name] = true
	}
}

func wantListed(t *testing.T, chapter string, seen map[string]bool) {
	t.Helper()
	listed := listedHeaders(t, chapter)
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if !slices.Contains(listed, name) {
			t.Errorf("%s: %s occurs and is not listed", chapter, name)
		}
	}
	for _, name := range listed {
		if !seen[name] {
			t.Errorf("%s: %s is listed and never occurs", chapter, name)
		}
	}
}

// TestHeadersOfAnswersAreListed asks for every kind of answer of both listeners, and compares the headers with the page,
// both ways.
func TestHeadersOfAnswersAreListed(t *testing.T) {
	version, quotes := oldest(t)
	in := func(days int) string { return time.Now().AddDate(0, 0, days).UTC().Format(`"2006-01-02T15:04:05Z"`) }
	plan := `{"versions": {"` + version + `": {"deprecated": ` + in(-30) + `, "sunset": ` + in(60) + `,
		"successor": "/v3/swap/quote", "docs": "https://example.org/v1",
		"brownouts": [{"from": ` + in(30) + `, "to": ` + in(31) + `, "share": 0.5}]}}}`
	unknown, _ := caller.NewKey()
	_, hash := caller.NewKey()
	const secret = "0123456789abcdef"
	base, admin, stop := start(t, map[string]string{
		"LIFECYCLE_FILE": tempFile(t, plan),
		"CLIENTS_FILE":   tempFile(t, `{"clients": [{"name": "Acme", "keys": ["`+hash+`"]}]}`),
		"ADMIN_TOKEN":    secret, "RATE_LIMIT": "20",
	})
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	origin := "Origin: https://wallet.example"

	seen := map[string]bool{}
	public := func(request string, headers ...string) { sentHeaders(t, base, request, seen, headers...) }
	public("GET "+quotePath+"&integratorID=1", origin)
	public("GET "+quotes+quoteQuery, "API-Rehearse: retired")
	public("GET " + quotes + strings.Split(quoteQuery, "&recipient")[0])
	if _, err := os.Stat("../../v1"); err != nil {
		seen["Quote-Warning"] = true // the others send it only for contracts that do not exist
	}
	public("GET "+quotePath, "API-Key: "+unknown)
	public("POST " + quotePath)
	public("OPTIONS "+quotePath, origin, "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: api-key")
	public("GET /v3/app/pairs", "Accept-Encoding: gzip")
	public("GET /", "Accept: text/html")
	public("GET /nowhere")
	for range 20 {
		public("GET " + quotePath) // until it is 429
	}
	wantListed(t, "Response headers", seen)

	seen = map[string]bool{}
	token := "Authorization: Bearer " + secret
	private := func(request string, headers ...string) { sentHeaders(t, admin, request, seen, headers...) }
	private("GET /")
	private("GET /", token, "Accept: text/html")
	private("GET /metrics", token)
	private("GET /admin/usage.csv", token)
	private("POST /admin/lifecycle", token)
	private("GET /nowhere", token)
	wantListed(t, "Admin response headers", seen)
}

// TestHeadersOfRequestsAreListed finds the headers that the sources read, and compares them with the page, both ways.
func TestHeadersOfRequestsAreListed(t *testing.T) {
	reading := regexp.MustCompile(`(?:r\.Header|\bh)\.(?:Get|Values)\(("?[\w-]+"?)\)|r\.Header\[("?[\w-]+"?)\]|:= h\[(\w*(?:Header|parent))\]`)
	naming := regexp.MustCompile(`\b(\w+) += (?:http\.CanonicalHeaderKey\()?"([A-Za-z-]+)"`)
	var sources strings.Builder
	for _, folder := range []string{".", "../../gateway", "../../shared/web", "../../shared/wire"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			sources.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	constants := map[string]string{}
	for _, match := range naming.FindAllStringSubmatch(sources.String(), -1) {
		constants[match[1]] = match[2]
	}
	read := map[string]bool{}
	for _, match := range reading.FindAllStringSubmatch(sources.String(), -1) {
		name := match[1] + match[2] + match[3]
		if literal, err := strconv.Unquote(name); err == nil {
			name = literal
		} else if name = constants[name]; name == "" {
			t.Errorf("%s: a constant that this test does not find", match[0])
		}
		read[http.CanonicalHeaderKey(name)] = true
	}
	wantListed(t, "Request headers", read)
}
