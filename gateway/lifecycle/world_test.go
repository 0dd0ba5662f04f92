package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a small gateway with three versions, a clock, a plan's file and
// counts of use that a test sets.
type world struct {
	t      testing.TB
	file   string
	keeper *lifecycle.Keeper
	public http.Handler
	clock  atomic.Pointer[time.Time]
	core   atomic.Int64 // how often a version did its work
	log    *logged
	usage  *usage
}

// usage is the evidence that a test sets. It remembers releases as a database does.
type usage struct {
	clients, calls, strangers atomic.Int64
	asked, looked             atomic.Int64 // how often evidence was read, and a release looked for
	missing                   atomic.Pointer[string]
	broken                    atomic.Pointer[error] // what everything fails with
	uncounted                 atomic.Pointer[error] // what reading evidence fails with
	refuses                   atomic.Pointer[error] // what recording a release fails with
	waiting                   atomic.Pointer[[]string]
	slow                      atomic.Pointer[chan struct{}]  // closed when a slow database answers
	during                    atomic.Pointer[func()]         // called while evidence is read
	gate                      atomic.Pointer[lifecycle.Gate] // that evidence was last read for, and its sunset
	sunset                    atomic.Pointer[time.Time]
	releases                  sync.Map
	plan                      atomic.Pointer[string]
	planned                   atomic.Pointer[[]string]
}

// incomplete evidence, for a reason.
func incomplete(why string) *usage {
	u := &usage{}
	u.missing.Store(&why)
	return u
}

func (u *usage) Evidence(version string, gate lifecycle.Gate, sunset time.Time) (e lifecycle.Evidence, err error) {
	u.asked.Add(1)
	if version != "v1" {
		return lifecycle.Evidence{Clients: 1 << 20, Calls: 1 << 20}, nil
	}
	u.gate.Store(&gate)
	u.sunset.Store(&sunset)
	if during := u.during.Load(); during != nil {
		(*during)()
	}
	e.Clients = int(u.clients.Load())
	e.Calls = int(u.calls.Load())
	e.StrangerNames = 3
	e.StrangerCalls = int(u.strangers.Load())
	if names := u.waiting.Load(); names != nil {
		e.Waiting, e.WaitingCount = (*names)[:min(10, len(*names))], len(*names)
	}
	if why := u.missing.Load(); why != nil {
		e.Missing = *why
	}
	return e, fails(&u.broken, &u.uncounted)
}

// fails gives the first error that is set.
func fails(all ...*atomic.Pointer[error]) error {
	for _, one := range all {
		if err := one.Load(); err != nil {
			return *err
		}
	}
	return nil
}

func (u *usage) Released(version string, sunset time.Time, entry string) (time.Time, error) {
	u.looked.Add(1)
	if slow := u.slow.Load(); slow != nil {
		<-*slow
	}
	at, _ := u.releases.Load(version + stamp(sunset) + entry)
	released, _ := at.(time.Time)
	return released, fails(&u.broken)
}

func (u *usage) Release(version string, sunset time.Time, entry string) error {
	if err := fails(&u.broken, &u.refuses); err != nil {
		return err
	}
	u.releases.LoadOrStore(version+stamp(sunset)+entry, sunset)
	return nil
}

func (u *usage) Follow(plan string, planned []string) {
	u.plan.Store(&plan)
	u.planned.Store(&planned)
}

func stamp(t time.Time) string { return t.Format(time.RFC3339) }

func newWorld(t testing.TB, now, plan string, change ...func(*lifecycle.Options)) *world {
	t.Helper()
	w := &world{t: t, file: filepath.Join(t.TempDir(), "plan.json"), log: &logged{}, usage: &usage{}}
	w.setTime(now)
	w.write(plan)
	o := lifecycle.Options{
		File: w.file, Versions: served, Usage: w.usage,
		Now: func() time.Time { return *w.clock.Load() },
		Log: slog.New(slog.NewJSONHandler(w.log, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if w.keeper, err = lifecycle.New(o); err != nil {
		t.Fatal(err)
	}
	router := chi.NewRouter()
	for _, version := range served {
		router.Route("/"+version, func(r chi.Router) {
			r.Use(w.guard(version))
			r.Get("/quote", func(rw http.ResponseWriter, r *http.Request) {
				w.core.Add(1)
				fmt.Fprintf(rw, `{"from":%q}`, version)
			})
			r.Get("/refuse", func(rw http.ResponseWriter, r *http.Request) {
				deny(rw, r, fault.New(fault.InvalidAmount, "no"))
			})
			r.NotFound(func(rw http.ResponseWriter, r *http.Request) {
				http.Error(rw, "nothing here", http.StatusNotFound)
			})
		})
	}
	w.public = router
	return w
}

// callerOf reads who sent a request, as the gateway does.
func callerOf(r *http.Request, addr netip.Addr) caller.Caller {
	id, _ := integrator.ParseID(r.URL.Query().Get("integratorId"))
	return caller.From(r, addr, id)
}

// guard asks the keeper about each request, as the gateway does.
func (w *world) guard(version string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			// The test names its address as the gateway would find it.
			addr, _ := netip.ParseAddr(r.Header.Get("X-Test-Addr"))
			if e := w.keeper.Admit(rw.Header(), r, version, callerOf(r, addr)); e != nil {
				deny(rw, r, e)
				return
			}
			next.ServeHTTP(rw, r)
		})
	}
}

// deny answers as the gateway does.
func deny(w http.ResponseWriter, _ *http.Request, e *fault.Error) {
	status := http.StatusBadRequest
	if e.Code == fault.VersionBrownout || e.Code == fault.VersionRetired {
		status = http.StatusGone
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal{e.Code, e.Message, e.Successor, e.Until})
}

type refusal struct {
	Code      fault.Code
	Message   string
	Successor string
	Until     time.Time
}

type answer struct {
	status int
	http.Header
	body string
}

func (a answer) refusal(t *testing.T) (r refusal) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &r); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return r
}

func (w *world) get(path string, headers ...string) answer {
	w.t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res := httptest.NewRecorder()
	w.public.ServeHTTP(res, req)
	return answer{res.Code, res.Header(), res.Body.String()}
}

// refused asks for every client and gives those that were refused.
func (w *world) refused(clients int) map[int]bool {
	w.t.Helper()
	out := map[int]bool{}
	for i := range clients {
		switch a := w.get(fmt.Sprintf("/v1/quote?integratorId=0x%040x", i+1)); a.status {
		case http.StatusOK:
		case http.StatusGone:
			out[i] = true
		default:
			w.t.Fatalf("client %d got %d: %s", i, a.status, a.body)
		}
	}
	return out
}

func (w *world) setTime(text string) {
	now := at(text)
	w.clock.Store(&now)
}

func (w *world) advance(d time.Duration) {
	now := w.clock.Load().Add(d)
	w.clock.Store(&now)
}

func (w *world) write(plan string) {
	w.t.Helper()
	if err := os.WriteFile(w.file, []byte(plan), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// reload puts a plan into the file and lets the keeper find it.
func (w *world) reload(plan string) {
	w.t.Helper()
	w.write(plan)
	w.keeper.Poll()
}

func (w *world) state(version string) lifecycle.Stage {
	w.t.Helper()
	for _, e := range w.keeper.Document().Versions {
		if e.Name == version {
			return e.State
		}
	}
	w.t.Fatalf("no version %s in the document", version)
	return ""
}

// logged keeps what was logged.
type logged struct{ journal.Journal }

// lines gives the records that contain a text.
func (l *logged) lines(containing string) (out []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, containing) {
			out = append(out, line)
		}
	}
	return out
}
