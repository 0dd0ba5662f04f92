package gateway_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
)

// FuzzQuery sends any query to every version. Whatever it holds, the answer is
// JSON: a quote with everything it must have, or an error that says what is wrong.
func FuzzQuery(f *testing.F) {
	for _, p := range chain.Pairs() {
		f.Add(pairQuery(p).Encode())
	}
	f.Add("srcToken=USDC&srcToken=USDC")
	f.Add("amount=%00&recipientType=2;x=%zz")
	gw, versions, known := newGateway(f), modules(), learn(f)
	f.Fuzz(func(t *testing.T, query string) {
		for _, m := range versions {
			r := httptest.NewRequest("GET", quotePath(m), nil)
			r.URL.RawQuery = query
			w := httptest.NewRecorder()
			gw.ServeHTTP(w, r)
			var body struct{ Error, Code string }
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatalf("%s: not JSON: %s", m.Name, w.Body)
			}
			quote := known[m.Name].read(w.Body.Bytes())
			switch {
			case w.Code == 200 && (quote.To == "" || quote.DestAmount == "" || len(quote.Calldata) < 100):
				t.Fatalf("%s: an incomplete quote: %s", m.Name, w.Body)
			case w.Code == 200:
				if _, err := url.ParseQuery(query); err != nil {
					t.Fatalf("%s: quoted a query that cannot be read: %q", m.Name, query)
				}
			case w.Code != 400 && w.Code != 503 || body.Error == "" || body.Code == "":
				t.Fatalf("%s: got %d %s", m.Name, w.Code, w.Body)
			}
		}
	})
}
