package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
)

// facts are what every quote says, whatever its version calls them.
type facts struct{ To, SrcAmount, DestAmount, Calldata, Value string }

// factsOf are those of a quote of the core.
func factsOf(q *quote.Quote) facts {
	return facts{q.To.String(), q.SrcAmount.Dec(), q.DestAmount.Dec(), hexutil.Encode(q.Calldata), q.Value.Hex()}
}

// words are the fields that a version has the facts in, such as .methodParameters.value.
// No test is told them. They are found by their values, so that a version is tested
// because it is mounted.
type words facts

// read finds the facts in an answer. What is not there is empty.
func (w words) read(body []byte) facts {
	at := texts(body)
	return facts{at[w.To], at[w.SrcAmount], at[w.DestAmount], at[w.Calldata], at[w.Value]}
}

// texts are the texts in an answer, by their place in it.
func texts(body []byte) map[string]string {
	var value any
	_ = json.Unmarshal(body, &value) // what is no JSON has no texts
	found := map[string]string{}
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch value := value.(type) {
		case string:
			found[at] = value
		case map[string]any:
			for name, field := range value {
				walk(at+"."+name, field)
			}
		case []any:
			for i, item := range value {
				walk(fmt.Sprintf("%s[%d]", at, i), item)
			}
		}
	}
	walk("", value)
	return found
}

// overheard notes what the core answers, and until when it is asked to.
type overheard struct {
	wire.Quoter
	quote    *quote.Quote
	deadline time.Time
}

func (o *overheard) Quote(ctx context.Context, req *quote.Request) (*quote.Quote, error) {
	q, err := o.Quoter.Quote(ctx, req)
	o.quote = q
	o.deadline, _ = ctx.Deadline()
	return q, err
}

// learn finds the words of every version: for each fact, the field that has it in the
// quotes of all pairs.
func learn(t testing.TB) map[string]words {
	t.Helper()
	all, err := learned()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var learned = sync.OnceValues(func() (map[string]words, error) {
	service := golden.Core()
	core := &overheard{Quoter: service.Engine}
	service.Engine = core
	all := map[string]words{}
	for _, m := range gateway.Modules(service) {
		var fields [5]map[string]bool
		for _, p := range chain.Pairs() {
			r := httptest.NewRequest("GET", quotePath(m)+"?"+pairQuery(p).Encode(), nil)
			w := httptest.NewRecorder()
			if m.Routes[0].Handle(w, r) != nil {
				continue // a version need not know all chains; TestAllVersionsAgree looks at that
			}
			f := factsOf(core.quote)
			for i, fact := range []string{f.To, f.SrcAmount, f.DestAmount, f.Calldata, f.Value} {
				fields[i] = narrow(fields[i], texts(w.Body.Bytes()), fact)
			}
		}
		var found [5]string
		for i, names := range fields {
			if len(names) == 0 {
				return nil, fmt.Errorf("%s: no field of its quotes has fact %d of every pair", m.Name, i)
			}
			found[i] = slices.SortedFunc(maps.Keys(names), func(a, b string) int {
				return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
			})[0]
		}
		all[m.Name] = words{found[0], found[1], found[2], found[3], found[4]}
	}
	return all, nil
})

// narrow keeps the fields that have the fact. At first, nil, all may.
func narrow(fields map[string]bool, answer map[string]string, fact string) map[string]bool {
	kept := map[string]bool{}
	for name, text := range answer {
		if text == fact && (fields == nil || fields[name]) {
			kept[name] = true
		}
	}
	return kept
}

// current is the module of the current version.
func current() web.Module {
	all := modules()
	return all[slices.IndexFunc(all, func(m web.Module) bool { return m.Name == gateway.Current })]
}

// oldVersions are all but the current one.
func oldVersions(t testing.TB) []web.Module {
	t.Helper()
	old := slices.DeleteFunc(modules(), func(m web.Module) bool { return m.Name == gateway.Current })
	if len(old) == 0 {
		t.Skip("there is no old version left")
	}
	return old
}

// TestWords holds what was found to the names that two versions are known by.
func TestWords(t *testing.T) {
	want := words{".to", ".srcAmount", ".destAmount", ".methodParameters.calldata", ".methodParameters.value"}
	for version, got := range learn(t) {
		if version <= "v3" && got != want {
			t.Errorf("%s: got %v, want %v", version, got, want)
		}
	}
	if got := want.read([]byte("{")); got != (facts{}) {
		t.Errorf("got %v out of what is no JSON", got)
	}
}

var _ http.Handler = (*gateway.Gateway)(nil)
