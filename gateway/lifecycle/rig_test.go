package lifecycle_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var served = []string{"v3", "v3legacy", "v1"}

const (
	partner        = "0x000000000000000000000000000000000000c0de"
	nothingPlanned = `{"versions": {}}`
	broughtBack    = `{"versions": {"v1": {"active": true}}}`
	gateFields     = `"maxClients": 5, "maxCallsPerDay": 100`

	fullPlan = `{"versions": {
  "v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z",
         "successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1",
         "brownouts": [{"from": "2027-02-10T14:00:00Z", "to": "2027-02-10T15:00:00Z", "share": 0.5},
                       {"from": "2027-01-12T15:00:00+01:00", "to": "2027-01-12T14:15:00Z", "share": 0.25}],
         "exempt": ["` + partner + `", "203.0.113.0/24", "origin:https://partner.example"],
         "gate": {"maxClients": 5, "maxCallsPerDay": 100}}}}`
)

var (
	confirmed = strings.Replace(fullPlan, gateFields, gateFields+`, "released": true`, 1)
	counted   = strings.Replace(fullPlan, gateFields, gateFields+`, "instances": 3`, 1)
	errAway   = errors.New("the database is away")
)

// planOf is a plan for v1.
func planOf(fields string) string {
	const always = `"deprecated": "2026-01-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/m"`
	if fields != "" {
		fields = ", " + fields
	}
	return `{"versions": {"v1": {` + always + fields + `}}}`
}

func parse(t testing.TB, text string) *lifecycle.Plan {
	t.Helper()
	plan, err := lifecycle.Parse([]byte(text), served, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func scheduleOf(t testing.TB, text string) *lifecycle.Schedule { return parse(t, text).Versions["v1"] }

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// database is what a test says about the use of v1; other versions have very many
// clients. It remembers releases.
type database struct {
	evidence    lifecycle.Evidence
	err         error // of everything
	errEvidence error // of reading evidence
	errRelease  error // of recording a release
	errReleased error // of looking for a release
	errKept     error // of reading or writing what is accepted
}

// usage is the evidence of a rig.
type usage struct {
	mu sync.Mutex
	database
	slow     chan struct{} // if not nil, closed when a slow database answers
	before   func()        // if not nil, called before evidence is read
	during   func()        // if not nil, called while evidence is read
	releases map[string]time.Time
	kept     map[string]lifecycle.Accepted
	accepts  int // how often a line was accepted

	asked, looked int // how often evidence was read, and a release looked for
	gate          lifecycle.Gate
	sunset        time.Time
	plan          string
	planned       []string
}

// set changes or reads what the database knows.
func (u *usage) set(change func(*usage)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change(u)
}

func (u *usage) Evidence(version string, gate lifecycle.Gate, sunset time.Time) (lifecycle.Evidence, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	if version != "v1" {
		return lifecycle.Evidence{Clients: 1 << 20, Calls: 1 << 20}, nil
	}
	u.gate = gate
	u.sunset = sunset
	if u.during != nil {
		u.during()
	}
	return u.evidence, errors.Join(u.err, u.errEvidence)
}

func (u *usage) Released(version string, sunset time.Time, entry string) (time.Time, error) {
	u.mu.Lock()
	slow := u.slow
	u.mu.Unlock()
	if slow != nil {
		<-slow
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.looked++
	if u.before != nil {
		u.before()
	}
	return u.releases[version+sunset.Format(time.RFC3339)+entry], errors.Join(u.err, u.errReleased)
}

func (u *usage) Release(version string, sunset time.Time, entry string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := errors.Join(u.err, u.errRelease); err != nil {
		return err
	}
	u.releases[version+sunset.Format(time.RFC3339)+entry] = sunset
	return nil
}

func (u *usage) Accepted() (map[string]lifecycle.Accepted, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	text, _ := json.Marshal(u.kept) // as a database keeps it
	kept := map[string]lifecycle.Accepted{}
	return kept, errors.Join(json.Unmarshal(text, &kept), u.err, u.errKept)
}

func (u *usage) Accept(version string, a lifecycle.Accepted) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := errors.Join(u.err, u.errKept); err != nil {
		return err
	}
	u.accepts++
	u.kept[version] = a
	return nil
}

// line is what is kept of a version, as JSON.
func (u *usage) line(version string) string {
	text, _ := json.Marshal(u.kept[version].Line)
	return string(text)
}

func (u *usage) Follow(plan string, planned []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.plan = plan
	u.planned = planned
}

// rig is a keeper of three versions, polled once, with a clock, a plan's file and a database
// that a test sets.
type rig struct {
	*lifecycle.Keeper
	*clock.Clock
	t     testing.TB
	file  string
	log   journal.Journal
	usage *usage
}

func newUsage(d database) *usage {
	return &usage{database: d, releases: map[string]time.Time{}, kept: map[string]lifecycle.Accepted{}}
}

func newRig(t testing.TB, now, plan string, change ...func(*lifecycle.Options)) *rig {
	t.Helper()
	r := &rig{t: t, file: filepath.Join(t.TempDir(), "plan.json"), Clock: clock.At(at(now)), usage: newUsage(database{})}
	r.write(plan)
	o := lifecycle.Options{
		File: r.file, Versions: served, Usage: r.usage, Now: r.Now, Log: slog.New(slog.NewJSONHandler(&r.log, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	r.usage = o.Usage.(*usage)
	o.Follow = r.usage.Follow
	var err error
	if r.Keeper, err = lifecycle.New(o); err != nil {
		t.Fatal(err)
	}
	r.Poll()
	return r
}

// with starts a rig with a database that already says something, or that another rig has.
func with(u *usage) func(*lifecycle.Options) { return func(o *lifecycle.Options) { o.Usage = u } }

// restart is another process with the database of a rig and a plan of its own.
func (r *rig) restart(plan string, change ...func(*lifecycle.Options)) *rig {
	r.t.Helper()
	return newRig(r.t, r.Now().Format(time.RFC3339), plan, append(change, with(r.usage))...)
}

// pollAt lets the keeper look at its file and its gates at a time.
func (r *rig) pollAt(text string) {
	r.Advance(at(text).Sub(r.Now()))
	r.Poll()
}

// write writes the file at the time of the rig.
func (r *rig) write(plan string) {
	r.t.Helper()
	writeTo(r.t, r.file, plan, r.Now())
}

// writeTo writes a plan into a file as of a time.
func writeTo(t testing.TB, file, plan string, at time.Time) {
	t.Helper()
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

// reload puts a plan into the file and lets the keeper find it.
func (r *rig) reload(plan string) {
	r.t.Helper()
	r.write(plan)
	r.Poll()
}

// v1 is what an operator reads about v1.
func (r *rig) v1() lifecycle.Status { return r.Snapshot().Versions[2] }

// refused are the reasons for which the plan in the file is not in force.
func (r *rig) refused() string {
	if refused := r.Snapshot().Refused; refused != nil {
		return strings.Join(refused.Faults, "\n")
	}
	return ""
}

// admit asks whether a caller may call a version, with values of API-Rehearse.
func (r *rig) admit(version string, c caller.Caller, rehearse ...string) (http.Header, *fault.Error) {
	h := http.Header{}
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, value := range rehearse {
		request.Header.Add("API-Rehearse", value)
	}
	return h, r.Admit(h, request, version, c)
}

// codeOf is that of a refusal; empty if there is none.
func codeOf(e *fault.Error) fault.Code {
	if e == nil {
		return ""
	}
	return e.Code
}

// integratorOf is a caller with an integrator's ID; that of partner is 0xc0de.
func integratorOf(id uint16) caller.Caller {
	var c caller.Caller
	binary.BigEndian.PutUint16(c.Integrator[30:], id)
	return c
}

func from(addr string) caller.Caller { return caller.Caller{Addr: netip.MustParseAddr(addr)} }
