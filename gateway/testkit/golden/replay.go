package golden

import (
	"cmp"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// Replay sends every golden of a version to the gateway and checks the answers.
// It is called from the version's own folder. UPDATE_GOLDEN=1 writes the answers
// down instead of comparing them.
//
// Dialect says what its name alone does not tell about a version.
func Replay(t *testing.T, version string, d Dialect) {
	like := cmp.Or(d.Like, version)
	exchanges := readExchanges(t, "../testdata/"+version)
	judge, err := referee.New("..")
	if err != nil {
		t.Fatal(err)
	}
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
			if w.Code == http.StatusOK && asksForQuote(r) {
				checkQuote(t, judge, like, r, d, w.Body.Bytes())
			}
			if path, ok := d.Aliases[r.URL.Path]; ok {
				r.URL.Path = path
			}
			contract.Check(t, r, w)
		})
	}
	if !update {
		wantEveryPair(t, judge, like, exchanges)
		contract.checkExamples(t, exchanges)
	}
}

// Dialect is how a version differs.
type Dialect struct {
	// Aliases are paths that the version answers and its contract does not name, each
	// with the path in the contract.
	Aliases map[string]string
	// Like is a version that the referee knows, if it does not know this one. Change makes
	// a quote of this version of one of that, without its details.
	Like   string
	Change func(quote string) string
}

// isError tells whether a printed answer is an error.
func isError(answer string) bool { return answer[0] >= '4' }

func asksForQuote(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Get("srcToken") != ""
}

// checkQuote has the referee work out the whole body.
func checkQuote(t *testing.T, judge *referee.Referee, version string, r *http.Request, d Dialect, body []byte) {
	t.Helper()
	swap, err := judge.ReadSwap(version, r.URL.Query())
	if err != nil {
		t.Fatal(err)
	}
	terms := referee.Terms{IssuerBPS: judge.BuiltInBPS(swap.Src)}
	if swap.Integrator != "" {
		terms.IntegratorBPS = partnerBPS
	}
	if version == "v3" && strings.HasPrefix(r.URL.Query().Get("include"), "details") {
		var details []byte
		if body, details, err = referee.SplitDetails(body); err != nil {
			t.Fatal(err)
		}
		if err := judge.CheckDetails(swap, terms, around(swap, r.URL.Query().Get("from")), body, details); err != nil {
			t.Errorf("the referee expects other details: %v", err)
		}
	}
	note, err := judge.OpenNote(swap, body)
	if err != nil {
		t.Fatal(err)
	}
	expected, err := judge.Body(version, swap, terms, note)
	if err != nil {
		t.Fatal(err)
	}
	want := string(expected)
	if d.Change != nil {
		want = d.Change(want)
	}
	if string(body) != want {
		t.Errorf("got %s\nthe referee expects %s", body, want)
	}
}

// around is what the gateway of the goldens knows around a quote.
func around(s *referee.Swap, from string) referee.Around {
	a := referee.Around{ValidUntil: "2026-11-15T12:01:00Z", ValidFor: 60, IssuerOrigin: "built-in"}
	if s.Integrator != "" {
		a.CheckedAt = "2026-11-15T11:59:50Z"
		a.ValidUntil, a.ValidFor = "2026-11-15T12:00:31Z", 31 // no less than half of the time
	}
	if from == "" {
		return a
	}
	sender := common.HexToAddress(from)
	a.From = sender.Hex()
	switch sender {
	case allowedLittle:
		a.Allowance = big.NewInt(1)
	case allowedEnough:
		a.Allowance = everything.ToBig()
	default:
		a.Reason = noEndpoint(s.SrcToken.ChainID)
		return a
	}
	a.Native, a.Balance, a.ReadAt = everything.ToBig(), everything.ToBig(), "2026-11-15T12:00:00Z"
	return a
}

// wantEveryPair makes sure that the version has a quote on record for every pair
// it serves.
func wantEveryPair(t *testing.T, judge *referee.Referee, version string, exchanges []exchange) {
	t.Helper()
	quotes, recorded := 0, map[referee.Pair]bool{}
	for _, e := range exchanges {
		r := e.newRequest(t)
		if !strings.HasPrefix(e.answer, "200\n") || !asksForQuote(r) {
			continue
		}
		swap, err := judge.ReadSwap(version, r.URL.Query())
		if err != nil {
			t.Fatalf("%s: %v", e.path, err)
		}
		quotes++
		recorded[swap.Pair] = true
	}
	if quotes < 50 {
		t.Errorf("%s has only %d quotes on record", version, quotes)
	}
	served := chain.Pairs()
	if got, want := len(judge.Pairs()), len(served); got != want {
		t.Errorf("the referee knows %d pairs, the gateway %d", got, want)
	}
	for _, p := range served {
		pair, err := judge.Find(p.SrcToken.Symbol, uint64(p.Src), p.DstToken.Symbol, uint64(p.Dst))
		if err != nil {
			t.Errorf("the referee does not know a pair: %v", err)
			continue
		}
		if referee.Knows(version, pair) && !recorded[pair] {
			t.Errorf("%s has no golden for %s", version, pair)
		}
	}
}
