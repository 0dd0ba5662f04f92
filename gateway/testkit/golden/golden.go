// Package golden replays the recorded exchanges of a version against the real
// gateway and the real core. Each answer is compared literally, and validated
// against the version's contract.
package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exchange is one request and its answer, in one file: the request line and
// headers, an empty line, then the answer. Bodies are indented for the reader;
// the order of keys and every literal count.
type exchange struct {
	path    string
	request string
	answer  string
}

func readExchanges(t *testing.T, folder string) []exchange {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.http"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no goldens (%v)", folder, err)
	}
	var all []exchange
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		request, answer, _ := strings.Cut(string(data), "\n\n")
		all = append(all, exchange{path, strings.TrimSpace(request), answer})
	}
	return all
}

func (e exchange) name() string { return strings.TrimSuffix(filepath.Base(e.path), ".http") }

func (e exchange) newRequest(t *testing.T) *http.Request {
	t.Helper()
	lines := strings.Split(e.request, "\n")
	method, target, ok := strings.Cut(lines[0], " ")
	if !ok {
		t.Fatalf("%s does not start with a request line", e.path)
	}
	r := httptest.NewRequest(method, target, nil)
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r
}

// printAnswer writes an answer down, without what differs from run to run: the
// date, the request ID, and the secrets of a shield note.
func printAnswer(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", w.Code)
	header, body := w.Result().Header.Clone(), w.Body.Bytes()
	id := header.Get("X-Request-Id")
	if id == "" {
		t.Error("the answer has no request ID")
	}
	for _, name := range []string{"Date", "Content-Length", "X-Request-Id"} {
		header.Del(name)
	}
	if header.Get("Etag") != "" {
		header.Set("Etag", "(tag)") // changes with the document
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(header[name], ", "))
	}
	b.WriteByte('\n')
	isContract := bytes.Contains(body, []byte("\n \"openapi\": ")) // too long to read here
	if isContract || !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
		fmt.Fprintf(&b, "(%s)\n", header.Get("Content-Type"))
		return b.String()
	}
	if w.Code != http.StatusOK {
		if !bytes.Contains(body, []byte(`"requestId":"`+id+`"`)) {
			t.Errorf("the body does not repeat the request ID %s: %s", id, body)
		}
		body = bytes.Replace(body, []byte(id), []byte("(request ID)"), 1)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", "  "); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, body)
	}
	b.WriteString(MaskNote(indented.String()))
	return b.String()
}

// MaskNote hides the 160 bytes of a shield note wherever they are. They are
// fresh in every answer.
func MaskNote(body string) string {
	const selector, head, length = "0x095ff22d", 6 * 64, 64
	start := strings.Index(body, selector)
	if start < 0 {
		return body
	}
	at := start + len(selector) + head
	if len(body) < at+length+320 || !strings.HasSuffix(body[at:at+length], "a0") {
		return body
	}
	at += length
	return strings.ReplaceAll(body, body[at:at+320], "(note)")
}
