// Package report is what pages and files show of the counts: who calls which version,
// what the current version would answer, who has moved and who waits. Package evidence
// reads what a gate needs.
//
// What it promises:
//   - What a page reads never delays the writer or a gate, and takes a bounded memory.
//   - All who ask for the same at the same time get one answer, which is read once.
package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/words"
)

const day = store.Day // seconds

// Reader reads reports. One is read at a time, and shared with all who ask for the same
// meanwhile.
type Reader struct {
	*evidence.Reader
	flights guard.Flights[Report]

	mu      sync.Mutex
	roaming map[string]roamingNames // by version
	writes  int64                   // how often counts were written when the following was read
	summary []Version               // of the last report; nil if there is none
	pages   map[string]Report       // by query
	read    time.Time               // when
}

// New makes a reader of reports.
func New(from *evidence.Reader) *Reader {
	return &Reader{Reader: from, roaming: map[string]roamingNames{}, pages: map[string]Report{}}
}

// summaryFor is how long counts of other instances may be left out of a report.
const summaryFor = 10 * time.Second

// Contact is what an operator has written down about a known client.
type Contact struct {
	Contact  string       `json:"contact,omitempty"`
	Notes    string       `json:"notes,omitempty"`
	Notified time.Time    `json:"notified,omitzero"`     // when it was told to move
	Marked   *caller.Mark `json:"markedMoved,omitempty"` // that it has moved, as long as it has not called since
}

// Report says who calls which version, and what the current version would answer.
type Report struct {
	At        time.Time           `json:"at"`
	Since     time.Time           `json:"since"`     // the counts are complete since then
	Instances []evidence.Instance `json:"instances"` // running now
	Notes     []string            `json:"notes"`     // what the numbers do not include, and what is wrong
	Versions  []Version           `json:"versions"`
	Clients   []Client            `json:"clients"`  // one page of those that match the query
	Matching  int                 `json:"matching"` // how many there are: entries of a client on a version
	Distinct  int                 `json:"distinct"` // how many clients these are
	Sum       Sum                 `json:"sum"`      // of their calls
	Page      int                 `json:"page"`
	Pages     int                 `json:"pages"`
}

// Sum is how many calls clients made that were served, or refused by a brownout or
// because the version is retired.
type Sum struct {
	Calls7  uint64 `json:"calls7"` // of the last 7 days, today included
	Calls30 uint64 `json:"calls30"`
	Calls90 uint64 `json:"calls90"`
}

// Version is the usage of one version. Of the current one, clients are those that the
// operator knows or that an old version has seen.
type Version struct {
	Version  string            `json:"version"`
	Hour     evidence.Count    `json:"hour"`
	Day      evidence.Count    `json:"day"`
	Week     evidence.Count    `json:"week"`
	Unserved map[string]uint64 `json:"unserved"` // calls of the week: brownout, retired, rehearsed, failed
	Unnamed  uint64            `json:"unnamed"`  // calls of 90 days that are evidence and have no client
	Days     []VersionDay      `json:"days"`     // the last 90, in order, today last
	Groups   Groups            `json:"groups"`
	Findings *Findings         `json:"findings,omitempty"` // of an old version
}

// Groups are the clients that called within 90 days, by what is left to do. Moved,
// Refused, Different, Same, Uncompared and Unknown add up to Clients.
type Groups struct {
	Clients    int `json:"clients"`
	Moved      int `json:"moved"`
	Refused    int `json:"refused"`
	Different  int `json:"different"`
	Same       int `json:"same"`
	Uncompared int `json:"uncompared"`
	Unknown    int `json:"unknown,omitempty"` // with a finding that only another release knows
	Addresses  int `json:"addresses"`         // of Clients: names made from a network; one that moves has several
	Probably   int `json:"probably"`          // how many clients these names probably are: software that roams is one

	Marked        int    `json:"marked"`        // of Moved: because the operator says so
	ProbablyMoved int    `json:"probablyMoved"` // not of Moved: the same software and network has another name there
	Told          int    `json:"told"`          // known clients that have not moved and were told to
	Untold        int    `json:"untold"`        // and those that were not
	Proven        uint64 `json:"proven"`        // answered calls of these clients with a key, ever
	Claimed       uint64 `json:"claimed"`       // and without one
}

// Still is how many clients called within 90 days and have not moved.
func (g Groups) Still() int { return g.Clients - g.Moved }

// VersionDay is one day of a version.
type VersionDay struct {
	Day     Day    `json:"day"`
	Served  uint64 `json:"served"`
	Refused uint64 `json:"refused"` // by a brownout, or because the version is retired
	Clients uint64 `json:"clients"` // that called, served or refused
}

// Day is the start of a day (UTC) in Unix seconds.
type Day int64

func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// Time is the start of the day.
func (d Day) Time() time.Time { return time.Unix(int64(d), 0).UTC() }

// Report reads one page of the clients that match a query, and the numbers of every
// version, in its turn and once for all who ask for the same. A recorder writes the
// waiting counts first, also for the other questions of pages.
func (r *Reader) Report(ctx context.Context, q Query) (Report, error) {
	return r.flights.Ask(ctx, r.Log, "reading a report", q.Values().Encode(), func() (report Report, err error) {
		read := func(ctx context.Context, at time.Time, far *evidence.Progress) (err error) {
			report, err = r.report(ctx, q, at, far)
			return err
		}
		err = r.InTurn(context.WithoutCancel(ctx), read)
		return report, err
	})
}

func (r *Reader) report(ctx context.Context, q Query, at time.Time, far *evidence.Progress) (Report, error) {
	s, err := r.ReadStats(r.DB.Ask(ctx), at, nil)
	if err != nil {
		return Report{}, err
	}
	far.Is("the totals were read, and the groups of clients were not")
	summary, err := r.summarise(ctx, at)
	if err != nil {
		return Report{}, err
	}
	far.Is("the groups of clients were read, and the page of clients was not")
	report, err := r.page(ctx, q, at)
	report.At = r.Now().UTC()
	report.Since = s.Since.UTC()
	report.Instances = s.Instances
	report.Notes = append([]string{}, s.Notes...)
	report.Versions = []Version{}
	for _, v := range summary {
		count := s.Counts[v.Version]
		v.Hour, v.Day, v.Week = count[0], count[1], count[2]
		v.Unserved = s.Unserved[v.Version]
		if v.Unserved == nil {
			v.Unserved = map[string]uint64{}
		}
		report.Versions = append(report.Versions, v)
	}
	return report, err
}

// summarise reads what a report says about every version, unless it is known from
// the last one.
func (r *Reader) summarise(ctx context.Context, at time.Time) ([]Version, error) {
	r.mu.Lock()
	r.forgetOld(at)
	kept := r.summary
	r.mu.Unlock()
	if kept != nil {
		return kept, nil
	}
	all := make([]Version, len(r.Versions))
	from := at.Unix()/day - store.ReportDays + 1
	for i, version := range r.Versions {
		all[i].Version = version
		for d := range int64(store.ReportDays) {
			all[i].Days = append(all[i].Days, VersionDay{Day: Day((from + d) * day)})
		}
	}
	db := r.DB.AskPages(ctx)
	addDays(db, from, all)
	r.addGroups(db, all)
	r.addWritten(db, all)
	r.addTraces(db, all)
	r.addRoamers(db, at, all)
	r.addFindings(db, all)
	if db.Err != nil {
		return nil, db.Err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary, r.read = all, at
	return all, nil
}

// forgetOld forgets what was read before the last counts were written, or too long ago.
func (r *Reader) forgetOld(at time.Time) {
	writes := r.Writer.Writes()
	otherDay := r.read.Unix()/day != at.Unix()/day
	if r.writes == writes && !otherDay && at.Sub(r.read).Abs() <= summaryFor {
		return
	}
	r.writes = writes
	r.summary = nil
	r.pages = map[string]Report{}
}

// addRoamers says how many clients the names of 90 days probably are. It takes long with
// many of them, so the answer is remembered.
func (r *Reader) addRoamers(db *store.Session, at time.Time, all []Version) {
	for i := range all {
		g, version := &all[i].Groups, all[i].Version
		g.Probably = g.Clients
		if g.Addresses < 2 {
			continue
		}
		r.mu.Lock()
		kept := r.roaming[version]
		r.mu.Unlock()
		if at.Sub(kept.at).Abs() >= roamingFor || kept.addresses != g.Addresses {
			kept = roamingNames{at, g.Addresses, evidence.Roaming(db, version, at)}
			r.mu.Lock()
			r.roaming[version] = kept
			r.mu.Unlock()
		}
		g.Probably -= kept.fewer
	}
}

// roamingFor is how long it is remembered.
const roamingFor = 5 * time.Minute

type roamingNames struct {
	at        time.Time
	addresses int // names that there were
	fewer     int // clients than names
}

// dayOf is the day of a version in a report. One that is not shown is thrown away.
func dayOf(all []Version, version string, day int64) (*Version, *VersionDay) {
	i := slices.IndexFunc(all, func(v Version) bool { return v.Version == version })
	if i < 0 || day < 0 || day >= store.ReportDays {
		return &Version{}, &VersionDay{}
	}
	return &all[i], &all[i].Days[day]
}

// addDays reads the curves. Clients of today are counted, those of days that are over
// were counted before.
func addDays(db *store.Session, from int64, all []Version) {
	var at int64
	var version, what string
	var calls, unnamed, clients uint64
	db.Each(`select began / 86400 as day, version, outcome, cast(sum(calls) as bigint), cast(sum(unnamed) as bigint)
		from usage_totals where began >= $1 group by day, version, outcome`, []any{from * day},
		[]any{&at, &version, &what, &calls, &unnamed}, func() {
			v, d := dayOf(all, version, at-from)
			switch what {
			case store.Served:
				d.Served += calls
				v.Unnamed += unnamed
			case store.Brownout:
				d.Refused += calls
				v.Unnamed += unnamed
			case store.Retired:
				d.Refused += calls
			}
		})
	db.Each(`select day, version, clients from usage_version_days where day >= $1
		union all select day, version, count(*) from usage_days
		where day >= $2 and served + brownout + retired > 0 group by day, version`,
		[]any{from, from + store.ReportDays - 1}, []any{&at, &version, &clients}, func() {
			_, d := dayOf(all, version, at-from)
			d.Clients = clients
		})
}

func (r *Reader) addGroups(db *store.Session, all []Version) {
	var version string
	var grave, clients, addresses int
	var proven, claimed uint64
	db.Each(`select c.version, case when coalesce(m.last_served, 0) > c.last_seen then -1 else c.worst end as grave,
		count(*), sum(case when c.kind = 2 then 1 else 0 end),
		cast(sum(c.proven) as bigint), cast(sum(c.claimed) as bigint)
		from usage_clients as c
		left join usage_clients as m on m.version = $1 and m.client = c.client and c.version <> $1
		where c.calls90 > 0 group by c.version, grave`, []any{r.Current},
		[]any{&version, &grave, &clients, &addresses, &proven, &claimed}, func() {
			v, _ := dayOf(all, version, 0)
			g := &v.Groups
			g.Clients += clients
			g.Addresses += addresses
			g.Proven += proven
			g.Claimed += claimed
			g.add(grave, clients)
		})
}

// moved is the gravity of a client that has moved.
const moved = -1

// add counts clients in the group of a gravity. Another release may have written any
// number.
func (g *Groups) add(grave, clients int) {
	switch grave {
	case moved:
		g.Moved += clients
	case store.Gravity(""):
		g.Uncompared += clients
	case store.Gravity(event.SameMoney):
		g.Same += clients
	case store.Gravity(event.DifferentMoney):
		g.Different += clients
	case store.Gravity(event.Refused):
		g.Refused += clients
	default:
		g.Unknown += clients
	}
}

// addWritten counts the clients that the operator has told to move, or marked as moved.
func (r *Reader) addWritten(db *store.Session, all []Version) {
	if r.Known == nil {
		return
	}
	r.eachWritten(db, func(w writtenClient) {
		v, _ := dayOf(all, w.version, 0)
		g := &v.Groups
		switch {
		case w.version == r.Current || w.worst == moved:
		case w.Moved.Holds(w.lastSeen):
			g.Marked++
			g.add(moved, 1)
			g.add(w.worst, -1)
		case w.Notified != 0:
			g.Told++
		default:
			g.Untold++
		}
	})
}

// addTraces counts the clients that have probably moved under another name.
func (r *Reader) addTraces(db *store.Session, all []Version) {
	var version string
	var clients int
	db.Each(`select c.version, count(distinct c.client) from usage_clients as t
		join usage_names as o on o.id = t.client
		join usage_names as n on n.trace = o.trace and n.id <> o.id
		join usage_clients as c on c.client = n.id and c.version <> t.version
		left join usage_clients as m on m.client = c.client and m.version = t.version
		where t.version = $1 and o.trace <> 0 and n.trace <> 0 and t.last_served > c.last_seen and c.calls90 > 0
		and coalesce(m.last_served, 0) <= c.last_seen
		group by c.version`, []any{r.Current}, []any{&version, &clients}, func() {
		v, _ := dayOf(all, version, 0)
		v.Groups.ProbablyMoved = clients
	})
}

// FindingCount is a finding and how many calls have it.
type FindingCount struct {
	Outcome event.Outcome `json:"outcome"`
	Code    fault.Code    `json:"code,omitempty"`
	Param   string        `json:"param,omitempty"`
	Calls   uint64        `json:"calls"`
}

// Finding is the worst of a client's findings: refused, different, same, or empty.
func (c *Client) Finding() event.Outcome {
	if len(c.Findings) == 0 {
		return ""
	}
	return c.Findings[0].Outcome
}

// phrases say what a finding means, in the words of each reader.
type phrases struct {
	short     string // in a table
	one, many string // what a client does, and what clients do
	would     string // what calls would get
	step      string // what the client has to do; empty if nothing
}

func (f FindingCount) phrases(version, successor string) phrases {
	switch {
	case store.Gravity(f.Outcome) < 0:
		unknown := fmt.Sprintf("a finding of another release, %q", f.Outcome)
		return phrases{
			short: fmt.Sprintf("unknown: %q", f.Outcome),
			one:   "has " + unknown,
			many:  "have " + unknown,
			would: "have " + unknown + ", which this one does not know",
		}
	case f.Outcome == event.SameMoney:
		return phrases{
			short: "same amounts, new format",
			one:   "gets the same amounts",
			many:  "get the same amounts",
			would: fmt.Sprintf("would get the same transaction and the same amounts from %s, in a new format",
				successor),
		}
	case f.Outcome == event.DifferentMoney && f.Param != "":
		return phrases{
			short: "different amount: sends " + f.Param,
			one:   fmt.Sprintf("gets a different amount because %s ignores its %s", version, f.Param),
			many:  fmt.Sprintf("get a different amount because %s ignores their %s", version, f.Param),
			would: fmt.Sprintf("would get a different amount from %s, because %s ignores %s and %[1]s does not",
				successor, version, f.Param),
			step: fmt.Sprintf("Leave %s out if you do not want what it asks for: %s ignores it, and %s does not, "+
				"so that the amount differs", f.Param, version, successor),
		}
	case f.Outcome == event.DifferentMoney:
		return phrases{
			short: "different amount",
			one:   "gets a different amount",
			many:  "get a different amount",
			would: "would get a different amount from " + successor,
			step:  "Compare the amounts: some of your calls get another quote from " + successor,
		}
	case f.Code == fault.MissingParameter && f.Param != "":
		return phrases{
			short: "refused: omits " + f.Param,
			one:   "omits " + f.Param,
			many:  "omit " + f.Param,
			would: fmt.Sprintf("would be refused by %s, because %s is missing", successor, f.Param),
			step:  fmt.Sprintf("Always send %s: %s answers without it, and %s refuses", f.Param, version, successor),
		}
	case f.Param != "":
		return phrases{
			short: fmt.Sprintf("refused: %s, %s", f.Param, f.Code),
			one:   fmt.Sprintf("sends a value of %s that %s refuses (%s)", f.Param, successor, f.Code),
			many:  fmt.Sprintf("send a value of %s that %s refuses (%s)", f.Param, successor, f.Code),
			would: fmt.Sprintf("would be refused by %s, because of the value of %s (%s)", successor, f.Param, f.Code),
			step: fmt.Sprintf("Correct the value of %s: %s refuses what you send, with the code %s",
				f.Param, successor, f.Code),
		}
	}
	return phrases{
		short: strings.TrimSpace("refused: " + string(f.Code)),
		one:   "gets " + string(f.Code),
		many:  "get " + string(f.Code),
		would: fmt.Sprintf("would be refused by %s (%s)", successor, f.Code),
		step:  fmt.Sprintf("Correct what %s refuses with the code %s", successor, f.Code),
	}
}

// Short is the finding in a few words, for a table.
func (f FindingCount) Short() string { return f.phrases("", "").short }

// Sentence says what the finding means for the calls of one client.
func (f FindingCount) Sentence(version, successor string) string {
	return words.Count(f.Calls, "call", "calls") + " " + f.phrases(version, successor).would + "."
}

// Steps are what the findings of a client ask of it, each once, with the day of the
// calls that showed it.
func (c *Client) Steps(successor string) (steps []string) {
	for _, f := range c.Findings {
		if step := f.phrases(c.Version, successor).step; step != "" {
			calls := words.Count(f.Calls, "call", "calls")
			steps = append(steps, fmt.Sprintf("%s (%s on %s).", step, calls, words.Date(c.Found)))
		}
	}
	return steps
}

// Findings says what the current version would answer to the calls that an old
// version served. It adds up the findings of the clients that have not moved: of each
// those of the last day on which any of its calls were compared.
type Findings struct {
	Successor string    `json:"successor"`
	Summary   string    `json:"summary"`
	Since     time.Time `json:"since,omitzero"` // the earliest of these days
	Until     time.Time `json:"until,omitzero"` // the latest
	Same      uint64    `json:"same"`           // calls
	Different uint64    `json:"different"`
	Refused   uint64    `json:"refused"`
	Unknown   uint64    `json:"unknown,omitempty"` // that only another release knows
	Reasons   []Reason  `json:"reasons"`           // for different and refused calls, the most frequent first
}

// Reason is why the current version does not give calls the same amounts.
type Reason struct {
	FindingCount
	Clients uint64 `json:"clients"`

	topClients []string // those with the most calls
}

// How many reasons, and clients per reason, a summary names.
const (
	summaryReasons = 3
	summaryClients = 5
)

// countingFindings are the findings that count: the latest of clients that have not
// moved.
const countingFindings = `usage_findings as f
	join usage_clients as c on c.version = f.version and c.client = f.client and c.found = f.day and c.calls90 > 0
	left join usage_clients as m on m.version = $1 and m.client = c.client and c.version <> $1
	where coalesce(m.last_served, 0) <= c.last_seen`

// addFindings reads the findings of every version but the current one.
func (r *Reader) addFindings(db *store.Session, all []Version) {
	for i := range all {
		if r.Current != "" && all[i].Version != r.Current {
			all[i].Findings = &Findings{Successor: r.Current, Reasons: []Reason{}}
		}
	}
	var version string
	var reason Reason
	var first, last int64
	db.Each(`select f.version, f.finding, f.code, f.param, cast(sum(f.calls) as bigint), count(*),
		min(f.day), max(f.day) from `+countingFindings+`
		group by f.version, f.finding, f.code, f.param order by 5 desc, f.finding, f.code, f.param`, []any{r.Current},
		[]any{&version, &reason.Outcome, &reason.Code, &reason.Param, &reason.Calls, &reason.Clients,
			&first, &last}, func() {
			if v, _ := dayOf(all, version, 0); v.Findings != nil {
				v.Findings.add(reason, Day(first*day).Time(), Day(last*day).Time())
			}
		})
	for i := range all {
		f := all[i].Findings
		if f == nil {
			continue
		}
		for j := range f.Reasons[:min(summaryReasons, len(f.Reasons))] {
			r.nameClients(db, all[i].Version, &f.Reasons[j])
		}
		f.Summary = f.summary(all[i].Version, all[i].Groups.Uncompared)
	}
}

// nameClients reads the clients with the most calls that have a reason.
func (r *Reader) nameClients(db *store.Session, version string, reason *Reason) {
	var name string
	db.Each(`select n.name from (select f.client, f.calls from `+countingFindings+`
		and f.version = $2 and f.finding = $3 and f.code = $4 and f.param = $5
		order by f.calls desc, f.client limit $6) as top
		join usage_names as n on n.id = top.client order by top.calls desc, n.name`,
		[]any{r.Current, version, string(reason.Outcome), string(reason.Code), reason.Param, summaryClients},
		[]any{&name}, func() { reason.topClients = append(reason.topClients, name) })
}

// add adds up calls by outcome, and keeps the reasons that stop a client.
func (f *Findings) add(reason Reason, first, last time.Time) {
	if f.Since.IsZero() || first.Before(f.Since) {
		f.Since = first
	}
	if last.After(f.Until) {
		f.Until = last
	}
	switch reason.Outcome {
	case event.SameMoney:
		f.Same += reason.Calls
		return
	case event.DifferentMoney:
		f.Different += reason.Calls
	case event.Refused:
		f.Refused += reason.Calls
	default:
		f.Unknown += reason.Calls
	}
	f.Reasons = append(f.Reasons, reason)
}

// summary is one sentence for an operator.
func (f *Findings) summary(version string, uncompared int) string {
	caveat := ""
	if uncompared > 0 {
		caveat = " (of " + words.Count(uncompared, "client no call was compared", "clients no call was compared") + ")"
	}
	whole := f.Same + f.Different + f.Refused + f.Unknown
	if whole == 0 {
		return fmt.Sprintf("no %s call was compared with %s%s", version, f.Successor, caveat)
	}
	parts := []string{fmt.Sprintf("%s of %s calls get the same amounts from %s, in a new format",
		words.Proportion(f.Same, whole), version, f.Successor)}
	for i, reason := range f.Reasons {
		if i == summaryReasons {
			parts = append(parts, "besides "+words.Count(len(f.Reasons)-i, "other reason", "other reasons"))
			break
		}
		parts = append(parts, reason.sentence(version, f.Successor))
	}
	return strings.Join(parts, "; ") + caveat
}

// sentence says which clients a reason concerns, and how.
func (r *Reason) sentence(version, successor string) string {
	p := r.phrases(version, successor)
	names := strings.Join(r.topClients, ", ")
	if more := int(r.Clients) - len(r.topClients); more > 0 {
		names += fmt.Sprintf(", and %d more", more)
	}
	return words.Count(r.Clients, "client "+p.one, "clients "+p.many) + ": " + names
}
