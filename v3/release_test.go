package v3_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
)

// TestRelease uses the client of release 1.0.0, as its users have it, with this gateway: with every optional field of a
// deployment, and again with a field more in every object, as a later gateway may answer.
//
// quotegate-client-1.0.0.tgz is what npm packs of v3/client/npm of commit a66e9852, the last one of that release.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it runs a client in Node; make test-all runs it")
	}
	needNode(t)
	t.Parallel()
	folder := t.TempDir()
	unpack(t, "../testdata/client/quotegate-client-1.0.0.tgz", filepath.Join(folder, "node_modules/@quotegate/client"))
	writeFile(t, folder, "release.mjs", readFile(t, "../testdata/client/release-1.0.0.test.mjs"))

	gateway := golden.GatewayOf(t, fullDeployment(t))
	mux := http.NewServeMux()
	mux.Handle("/", gateway)
	mux.Handle("/later/", http.StripPrefix("/later", later(gateway)))
	server := httptest.NewServer(mux)
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), "node", "--no-warnings", "release.mjs")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GATEWAY="+server.URL)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "fail 0") {
		t.Errorf("%v\n%s", err, out)
	}
}

// fullDeployment is that of the goldens with every optional field that a listing shows.
func fullDeployment(t *testing.T) *chain.Deployment {
	t.Helper()
	file := bytes.Replace(chain.ReferenceAs("example"), []byte(`"registries"`), []byte(`
		"rpcUrls": {"1": ["https://rpc.example.org/eth", "http://127.0.0.1:8545"], "369": ["https://rpc.example.org/pulse"]},
		"explorers": {"369": "https://explorer.example.org"}, "contact": "support@example.org", "registries"`), 1)
	d, err := chain.ParseDeployment(file)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// later answers as a gateway of a later release may: with a field more in every object but those that are passed on to
// wallets. Quotes are asked for with a parameter that is unknown, and so have a warning.
func later(gateway http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/quote") {
			r.URL.RawQuery += "&slippage=1"
		}
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		gateway.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(answer.Code)
		decoder := json.NewDecoder(answer.Body)
		decoder.UseNumber()
		var body any
		if decoder.Decode(&body) == nil { // a 304 has none
			_ = json.NewEncoder(w).Encode(extend(body))
		}
	})
}

func extend(value any) any {
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			extend(inner)
		}
	case map[string]any:
		for name, inner := range value {
			if !slices.Contains([]string{"call", "sendCalls"}, name) {
				extend(inner)
			}
		}
		value["future"] = 1
	}
	return value
}

// unpack writes the files of a package that npm packed into a folder.
func unpack(t *testing.T, path, folder string) {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(compressed); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, folder, strings.TrimPrefix(header.Name, "package/"), data)
	}
}
