package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/answer"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/wire"
)

// asked is a core that notes what it is asked, and answers nothing.
type asked struct{ request *quote.Request }

func (a *asked) Quote(_ context.Context, req *quote.Request) (*quote.Quote, error) {
	a.request = req
	return nil, errors.New("no answer")
}

// TestModulesDecodeAsTheirHandlersDo sends the query of every golden to all
// routes that quote, and to Decode: both come to the same request, or to the
// same error.
func TestModulesDecodeAsTheirHandlersDo(t *testing.T) {
	core := &asked{}
	for _, m := range gateway.Modules(answer.Service{Deployment: chain.Reference(), Engine: core}) {
		files, err := filepath.Glob("../testdata/" + m.Name + "/*.http")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no goldens (%v)", m.Name, err)
		}
		requests, refusals := 0, 0
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(string(data), "\n")
			_, query, _ := strings.Cut(line, "?")
			for _, route := range m.Routes {
				if !route.Quotes {
					continue
				}
				core.request = nil
				request := &http.Request{URL: &url.URL{RawQuery: query}}
				handled := route.Handle(httptest.NewRecorder(), request)
				decoded, err := m.Decode(request)
				if err != nil {
					refusals++
					got, want := fault.From(err), fault.From(handled)
					if core.request != nil || got.Code != want.Code || got.Message != want.Message || wire.Param(got) != wire.Param(want) {
						t.Errorf("%s: decoded to %v, handled to %v", file, err, handled)
					}
				} else if core.request == nil {
					t.Errorf("%s: decoded, but handled to %v", file, handled)
				} else if same, role := decoded.Same(core.request); !same {
					t.Errorf("%s: decoded and handled differ in the %s", file, wire.Name(role))
				} else {
					requests++
				}
			}
		}
		if requests == 0 || refusals == 0 {
			t.Errorf("%s: %d requests and %d refusals compared, want some of each", m.Name, requests, refusals)
		}
	}
}
