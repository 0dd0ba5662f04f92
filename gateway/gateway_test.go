package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/version"
)

const (
	somebody = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	private  = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"

	someQuote = "?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369"
	goodQuote = someQuote + "&recipient=" + somebody

	// Integrators of golden.Core: one in good standing, one switched off, one that is
	// not registered.
	partner      = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	inactive     = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
	unregistered = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
)

// overheard notes what the core answered last, until when it was asked to, and on behalf of
// which network.
type overheard struct {
	api.Quoter
	quote    atomic.Pointer[quote.Quote]
	deadline atomic.Pointer[time.Time]
	network  atomic.Pointer[string]
}

func (o *overheard) Quote(ctx context.Context, req *quote.Request) (*quote.Quote, error) {
	q, err := o.Quoter.Quote(ctx, req)
	o.quote.Store(q)
	deadline, _ := ctx.Deadline()
	o.deadline.Store(&deadline)
	o.network.Store(new(req.Caller.String()))
	return q, err
}

// core is that of the versions which all tests share.
var core overheard

// modules are the real versions. Their pages and documents take long to make, so that all tests share them.
func modules() []version.Module { return slices.Clone(shared()) }

var shared = sync.OnceValue(func() []version.Module {
	service := golden.Core()
	core.Quoter = service.Engine
	service.Engine = &core
	return gateway.Modules(service)
})

// current is the module of the current version.
func current() version.Module {
	all := modules()
	return all[slices.IndexFunc(all, func(m version.Module) bool { return m.Name == gateway.Current })]
}

// oldVersions are all but the current one.
func oldVersions(t testing.TB) []version.Module {
	t.Helper()
	old := slices.DeleteFunc(modules(), func(m version.Module) bool { return m.Name == gateway.Current })
	if len(old) == 0 {
		t.Skip("there is no old version left")
	}
	return old
}

// quotePath is where a version quotes: the first route of every module.
func quotePath(m version.Module) string { return m.Routes[0].Path }

// pairQuery is a request that moves an uneven amount over a pair.
func pairQuery(p chain.Pair) url.Values {
	amount := "1234567" + strings.Repeat("8", int(p.SrcToken.Decimals)-5) // 12.34… of a token
	recipient := somebody
	if p.Dst.Private() {
		recipient = private
	}
	return url.Values{
		"srcToken": {p.SrcToken.Symbol}, "dstToken": {p.DstToken.Symbol}, "amount": {amount},
		"srcChain": {p.Src.String()}, "dstChain": {p.Dst.String()}, "recipient": {recipient},
	}
}

// setup is a gateway to be mounted. Left out: the real versions, no limit, no known
// clients, no plan, the real clock, no log.
type setup struct {
	gateway.Config
	modules   []version.Module
	retired   []gateway.RetiredVersion
	perMinute int
	clients   *caller.Clients
	now       func() time.Time
	logs      io.Writer
	level     slog.Level
	observers []event.Observer
	usage     gateway.Usage // nil: nobody called
}

// mount puts a gateway together.
func mount(t testing.TB, s setup) http.Handler {
	t.Helper()
	if s.modules == nil {
		s.modules = modules()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.logs == nil {
		s.logs = io.Discard
	}
	log := slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: s.level}))
	limiter, err := limit.New(t.Context(), limit.Config{PerMinute: s.perMinute}, log, s.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	life, err := lifecycle.New(lifecycle.Options{
		File: s.LifecycleFile, Versions: gateway.Names(s.modules), Now: s.now, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return gateway.New(s.Config, gateway.Parts{
		Modules: s.modules, RetiredVersions: s.retired, Lifecycle: life, Limiter: limiter, Clients: s.clients,
		Names: uncounted{}, Usage: cmp.Or[gateway.Usage](s.usage, uncounted{}), Log: log,
		Observers: append(s.observers, newAccessLog(s.logs, "json", s.level, false)),
	})
}

// one is a gateway whose current version has one route, at /v3/test.
func one(t *testing.T, s setup, handle version.Handler) http.Handler {
	t.Helper()
	module := current()
	module.Routes = []version.Route{{Path: "/v3/test", Free: true, Handle: handle}}
	s.modules = []version.Module{module}
	return mount(t, s)
}

// uncounted counts no calls.
type uncounted struct{}

func (uncounted) Follow(string, []string) {}

func (uncounted) Own(_ context.Context, client, plan string, all []lifecycle.Standing) (usage.Own, error) {
	mine := usage.Own{Client: client, Plan: plan}
	for _, v := range all {
		mine.Versions = append(mine.Versions, usage.OwnVersion{
			Standing: v, Days: []usage.OwnDay{}, Findings: []usage.OwnFinding{},
		})
	}
	return mine, nil
}

// Name hides the address that is part of an agent, as the recorder does.
func (uncounted) Name(who caller.Identity) string {
	if who.Kind == caller.Agent {
		return "client agent"
	}
	return who.String()
}

// write makes a file of a text.
func write(t testing.TB, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// clientsOf are the known clients of a file.
func clientsOf(t testing.TB, rows ...string) *caller.Clients {
	t.Helper()
	path := write(t, `{"clients": [`+strings.Join(rows, ", ")+`]}`)
	clients, err := caller.NewClients(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// planOf retires a version over the autumn of 2026, and exempts somebody from its brownout.
func planOf(t testing.TB, version, exempt string) gateway.Config {
	t.Helper()
	return gateway.Config{LifecycleFile: write(t, `{"versions": {"`+version+`": {
		"deprecated": "2026-09-01T00:00:00Z", "sunset": "2026-12-01T00:00:00Z",
		"successor": "`+quotePath(current())+`", "docs": "https://example.org/migrate",
		"brownouts": [{"from": "2026-11-01T12:00:00Z", "to": "2026-11-01T12:15:00Z", "share": 1}],
		"exempt": ["`+exempt+`"]}}}`)}
}

// reply is an answer and, if it is an error, what its body says.
type reply struct {
	*httptest.ResponseRecorder
	Fault struct {
		Error, Code, Param, Successor, RequestID string

		Alternatives []struct{ DstChain, DstToken string }
	}
}

func newRequest(method, target string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func send(h http.Handler, r *http.Request) reply {
	w := reply{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(w.ResponseRecorder, r)
	_ = json.Unmarshal(w.Body.Bytes(), &w.Fault) // a document is no JSON
	return w
}

func ask(h http.Handler, target string, headers ...string) reply {
	return send(h, newRequest(http.MethodGet, target, headers...))
}

// read decodes the body of a reply.
func read[T any](t testing.TB, w reply) (body T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return body
}

// facts are what every quote says, whatever its version calls them.
type facts struct{ to, srcAmount, destAmount, calldata, value string }

// quoted are the facts of the core's last quote, which an answer must have among its
// texts. Those of one that is incomplete are empty.
func (w reply) quoted() facts {
	q := core.quote.Load()
	if q == nil {
		return facts{}
	}
	f := facts{q.To.String(), q.SrcAmount.Dec(), q.DestAmount.Dec(), hexutil.Encode(q.Calldata), q.Value.Hex()}
	body := w.Body.String()
	for _, fact := range []string{f.to, f.srcAmount, f.destAmount, f.calldata, f.value} {
		if !strings.Contains(body, `"`+fact+`"`) {
			return facts{}
		}
	}
	f.calldata = golden.MaskNote(f.calldata)
	return f
}

// events keeps what a gateway tells its observers.
type events struct {
	mu  sync.Mutex
	all []event.Event
}

func (e *events) Observe(event *event.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, *event)
}

// last gives the latest event.
func (e *events) last() event.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[len(e.all)-1]
}
