package golden

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// Replay sends every golden of a version to the gateway and checks the answers.
// It is called from the version's own folder. UPDATE_GOLDEN=1 writes the answers
// down instead of comparing them.
//
// Dialect says what its name alone does not tell about a version.
func Replay(t *testing.T, version string, d Dialect) {
	exchanges := readExchanges(t, "../testdata/"+version)
	gw := Gateway(t)
	contract := ReadContract(t, gw, version)
	update := os.Getenv("UPDATE_GOLDEN") != ""
	for _, e := range exchanges {
		t.Run(e.name(), func(t *testing.T) {
			w := httptest.NewRecorder()
			gw.ServeHTTP(w, e.newRequest(t))
			got := printAnswer(t, w)
			switch {
			case update && e.answer != "" && isError(e.answer) && !isError(got):
				t.Errorf("%s is the golden of an error, and the answer is none any more. It was left as it is: "+
					"ask for something else that fails, or delete the file.", e.path)
			case update:
				if err := os.WriteFile(e.path, []byte(e.request+"\n\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			case got != e.answer:
				t.Errorf("%s\ngot:\n%s\nwant:\n%s", e.request, got, e.answer)
			}
			r := e.newRequest(t)
			if d.Like != "" && w.Code == http.StatusOK && isForQuote(r) {
				d.compare(t, gw, version, r, w.Body.String())
			}
			if path, ok := d.Aliases[r.URL.Path]; ok {
				r.URL.Path = path
			}
			contract.Check(t, r, w)
		})
	}
	if !update {
		contract.checkExamples(t, exchanges)
	}
}

// Dialect is how a version differs.
type Dialect struct {
	// Aliases are paths that the version answers and its contract does not name, each
	// with the path in the contract.
	Aliases map[string]string
	// Like is another version. Change makes a quote of this version of one of that, without its details.
	Like   string
	Change func(quote string) string
}

// compare wants a quote of a version to be the one of Like, changed.
func (d Dialect) compare(t *testing.T, gw http.Handler, version string, r *http.Request, body string) {
	t.Helper()
	r = r.Clone(t.Context())
	r.URL.Path = strings.Replace(r.URL.Path, version, d.Like, 1)
	w := httptest.NewRecorder()
	gw.ServeHTTP(w, r)
	quote, details, _ := strings.Cut(MaskNote(w.Body.String()), `,"details":`)
	got, gotDetails, _ := strings.Cut(MaskNote(body), `,"details":`)
	if want := d.Change(quote); got != want || gotDetails != details {
		t.Errorf("got %s\nwant the quote of %s, changed: %s\nand its details: %s", body, d.Like, want, details)
	}
}

// isError tells whether a printed answer is an error.
func isError(answer string) bool { return answer[0] >= '4' }

func isForQuote(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Get("srcToken") != ""
}
