package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
)

// Times are Unix seconds, and days Unix days.
const (
	Hour = 3600
	Day  = 24 * Hour
)

const (
	ReportDays = 90  // days that a report covers, today included
	KeepDays   = 91  // days of clients that are kept, which reports and gates look at
	KeepTotals = 400 // days of which totals are kept

	MaxInterval = 2 * time.Minute // the longest pause between two writes of an instance
	MaxSkew     = time.Minute     // between two clocks that agree
)

// Outcomes of a call, as usage_totals has them, and as columns of usage_days.
const (
	Served    = "served"
	Brownout  = "brownout"  // refused by a brownout
	Retired   = "retired"   // refused because the version is retired
	Rehearsed = "rehearsed" // refused because the client asked for a rehearsal
	Failed    = "failed"    // any other error
)

// NotYet is the plan of an instance that follows none yet, in usage_instances.
const NotYet = "?"

// UnknownPosition is that of a client whose place in the order of a share is not known.
const UnknownPosition = -1

// Kinds of names, in usage_clients.
const (
	OtherKind   int64 = iota
	KnownKind         // of a client known to the operator
	AddressKind       // made from software and a network: a client that moves has several
)

// KindOf is the kind of a name.
func KindOf(name string) int64 {
	switch kind, _, _ := strings.Cut(name, " "); kind {
	case string(caller.Known):
		return KnownKind
	case string(caller.Agent), "network":
		return AddressKind
	}
	return OtherKind
}

// IsAgent reports whether a name is made from software and a network.
func IsAgent(name string) bool { return strings.HasPrefix(name, string(caller.Agent)+" ") }

// Storable reports whether every database takes a text, and it has at most so many
// bytes. It says nothing of how the text looks to people: pages clean it.
func Storable(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
}

// gravity orders findings: the last is the worst.
var gravity = []event.Outcome{"", event.SameMoney, event.DifferentMoney, event.Refused}

// Gravity is the place of a finding, as worst in usage_clients has it: 0 without one, the
// greatest for the worst. It is -1 for a finding that only another release knows.
func Gravity(finding event.Outcome) int { return slices.Index(gravity, finding) }

// Table is one that rows are written to.
type Table[Row any] struct {
	name    string
	columns []column[Row]
}

// column is a column of a table, and where a row has its value.
type column[Row any] struct {
	name  string
	kind  kind
	rule  rule
	value func(*Row) any
}

// kind is the type of a column in PostgreSQL.
type kind string

const (
	text   kind = "text"
	bigint kind = "bigint"
	float8 kind = "float8"
)

// rule says what becomes of a row that exists: an expression of its value, old, and of
// the one that is written, new.
type rule string

const (
	key      rule = "key" // finds it
	keep     rule = ""    // it keeps its value
	replace  rule = "new.COLUMN"
	add      rule = "old.COLUMN + new.COLUMN"
	unite    rule = "old.COLUMN | new.COLUMN"
	greatest rule = "greatest(old.COLUMN, new.COLUMN)"
	least    rule = "least(old.COLUMN, new.COLUMN)"

	ifGiven  rule = "case when new.COLUMN = '' then old.COLUMN else new.COLUMN end"
	ifNot0   rule = "case when new.COLUMN = 0 then old.COLUMN else new.COLUMN end"
	ofLast   rule = "case when new.last_seen >= old.last_seen then new.COLUMN else old.COLUMN end"
	ofLatest rule = `case when new.found > old.found then new.COLUMN
		when new.found = old.found then greatest(old.COLUMN, new.COLUMN) else old.COLUMN end`
	ofLastDay rule = `case when new.day > old.day then new.COLUMN
		when new.day = old.day then old.COLUMN + new.COLUMN else old.COLUMN end`
)

// NameRow is a client's name, and what was last known of the software that used it.
type NameRow struct {
	Name, Software string
	Network        int64 // a keyed hash of the network that first used the name; 0: unknown
	FirstSeen      int64
	Trace          int64 // a keyed hash of network and software; 0: unknown
}

// Names is the table of names.
var Names = Table[NameRow]{"usage_names", []column[NameRow]{
	{"name", text, key, func(r *NameRow) any { return r.Name }},
	{"software", text, ifGiven, func(r *NameRow) any { return r.Software }},
	{"network", bigint, keep, func(r *NameRow) any { return r.Network }},
	{"first_seen", bigint, keep, func(r *NameRow) any { return r.FirstSeen }},
	{"trace", bigint, ifNot0, func(r *NameRow) any { return r.Trace }},
}}

// DayRow is what a client called on a day, by outcome.
type DayRow struct {
	Day     int64
	Version string
	Client  int64
	Hours   int64 // a bit for each hour with calls that were served or that a brownout refused

	Served, Brownout, Retired, Rehearsed, Failed int64
}

// Days is the table of days.
var Days = Table[DayRow]{"usage_days", []column[DayRow]{
	{"day", bigint, key, func(r *DayRow) any { return r.Day }},
	{"version", text, key, func(r *DayRow) any { return r.Version }},
	{"client", bigint, key, func(r *DayRow) any { return r.Client }},
	{"hours", bigint, unite, func(r *DayRow) any { return r.Hours }},
	{"served", bigint, add, func(r *DayRow) any { return r.Served }},
	{"brownout", bigint, add, func(r *DayRow) any { return r.Brownout }},
	{"retired", bigint, add, func(r *DayRow) any { return r.Retired }},
	{"rehearsed", bigint, add, func(r *DayRow) any { return r.Rehearsed }},
	{"failed", bigint, add, func(r *DayRow) any { return r.Failed }},
}}

// ClientRow is what is known about a client of a version. Times are those of the last
// call of their kind; 0: none.
type ClientRow struct {
	Version       string
	Client        int64
	FirstSeen     int64
	LastSeen      int64
	LastCall      int64 // served, or refused by a brownout
	LastServed    int64
	Last410       int64
	LastRehearsal int64
	LastFailed    int64
	Position      float64 // in the order in which brownouts refuse clients
	Exempt        int64   // 1: at its last call no brownout of the plan refused it
	Proven        int64   // calls with a key
	Claimed       int64   // calls without one
	Kind          int64
	Found         int64 // the day of its findings; 0: none
	Worst         int64 // the gravest of them

	Calls7, Calls30, Calls90 int64 // served or refused by a brownout or the sunset, of so many days
}

// Clients is the table of clients.
var Clients = Table[ClientRow]{"usage_clients", []column[ClientRow]{
	{"version", text, key, func(r *ClientRow) any { return r.Version }},
	{"client", bigint, key, func(r *ClientRow) any { return r.Client }},
	{"first_seen", bigint, least, func(r *ClientRow) any { return r.FirstSeen }},
	{"last_seen", bigint, greatest, func(r *ClientRow) any { return r.LastSeen }},
	{"last_call", bigint, greatest, func(r *ClientRow) any { return r.LastCall }},
	{"last_served", bigint, greatest, func(r *ClientRow) any { return r.LastServed }},
	{"last_410", bigint, greatest, func(r *ClientRow) any { return r.Last410 }},
	{"last_rehearsal", bigint, greatest, func(r *ClientRow) any { return r.LastRehearsal }},
	{"last_failed", bigint, greatest, func(r *ClientRow) any { return r.LastFailed }},
	{"position", float8, replace, func(r *ClientRow) any { return r.Position }},
	{"exempt", bigint, ofLast, func(r *ClientRow) any { return r.Exempt }},
	{"proven", bigint, add, func(r *ClientRow) any { return r.Proven }},
	{"claimed", bigint, add, func(r *ClientRow) any { return r.Claimed }},
	{"kind", bigint, keep, func(r *ClientRow) any { return r.Kind }},
	{"found", bigint, greatest, func(r *ClientRow) any { return r.Found }},
	{"worst", bigint, ofLatest, func(r *ClientRow) any { return r.Worst }},
	{"calls7", bigint, add, func(r *ClientRow) any { return r.Calls7 }},
	{"calls30", bigint, add, func(r *ClientRow) any { return r.Calls30 }},
	{"calls90", bigint, add, func(r *ClientRow) any { return r.Calls90 }},
}}

// FindingRow is what the current version makes of a client's calls, on the last day
// with this finding.
type FindingRow struct {
	Version              string
	Client               int64
	Finding, Code, Param string
	Day, Calls           int64
}

// Findings is the table of findings.
var Findings = Table[FindingRow]{"usage_findings", []column[FindingRow]{
	{"version", text, key, func(r *FindingRow) any { return r.Version }},
	{"client", bigint, key, func(r *FindingRow) any { return r.Client }},
	{"finding", text, key, func(r *FindingRow) any { return r.Finding }},
	{"code", text, key, func(r *FindingRow) any { return r.Code }},
	{"param", text, key, func(r *FindingRow) any { return r.Param }},
	{"day", bigint, greatest, func(r *FindingRow) any { return r.Day }},
	{"calls", bigint, ofLastDay, func(r *FindingRow) any { return r.Calls }},
}}

// TotalRow is the calls of a version in an hour, of one outcome.
type TotalRow struct {
	Began            int64
	Version, Outcome string
	Calls            int64
	Unnamed          int64 // those that count under no client of their own
}

// Totals is the table of all calls.
var Totals = Table[TotalRow]{"usage_totals", []column[TotalRow]{
	{"began", bigint, key, func(r *TotalRow) any { return r.Began }},
	{"version", text, key, func(r *TotalRow) any { return r.Version }},
	{"outcome", text, key, func(r *TotalRow) any { return r.Outcome }},
	{"calls", bigint, add, func(r *TotalRow) any { return r.Calls }},
	{"unnamed", bigint, add, func(r *TotalRow) any { return r.Unnamed }},
}}

// HourRow is an hour in which a service was up and its counts were written.
type HourRow struct{ Began int64 }

// Hours is the table of hours.
var Hours = Table[HourRow]{"usage_hours", []column[HourRow]{
	{"began", bigint, key, func(r *HourRow) any { return r.Began }},
}}

// FactRow is what the database says about itself.
type FactRow struct{ Name, Value string }

// Facts is the table of these, of which the first one stays; NewFacts is the same one,
// of which the last one stays.
var (
	Facts    = Table[FactRow]{"usage_meta", facts(keep)}
	NewFacts = Table[FactRow]{"usage_meta", facts(replace)}
)

func facts(value rule) []column[FactRow] {
	return []column[FactRow]{
		{"name", text, key, func(r *FactRow) any { return r.Name }},
		{"value", text, value, func(r *FactRow) any { return r.Value }},
	}
}

// Write writes rows. SQLite is quickest with one prepared statement and a round for each
// row; PostgreSQL takes many rows at a time, as JSON.
func (t Table[Row]) Write(s *Session, rows []Row) {
	if s.Err != nil || len(rows) == 0 {
		return
	}
	if s.db.Shared { // one round trip: it may be far away
		s.Exec(t.insert(t.fromJSON()), t.asJSON(rows))
		return
	}
	statement, err := s.on.PrepareContext(s.ctx, s.db.dialect(t.insert(t.fromValues())))
	if err != nil {
		s.Err = err
		return
	}
	defer statement.Close()
	ctx := context.WithoutCancel(s.ctx) // SQLite's driver starts a goroutine for every row that could be cancelled
	for i := range rows {
		_, s.Err = statement.ExecContext(ctx, t.values(&rows[i])...)
		if s.Err == nil {
			s.Err = s.ctx.Err()
		}
		if s.Err != nil {
			return
		}
	}
}

func (t Table[Row]) values(row *Row) []any {
	values := make([]any, len(t.columns))
	for i, c := range t.columns {
		values[i] = c.value(row)
	}
	return values
}

// insert is the statement that inserts what a source gives, or changes what exists.
func (t Table[Row]) insert(source string) string {
	var names, keys, sets []string
	for _, c := range t.columns {
		names = append(names, c.name)
		switch c.rule {
		case keep:
		case key:
			keys = append(keys, c.name)
		default:
			values := strings.NewReplacer("COLUMN", c.name, "old.", t.name+".", "new.", "excluded.")
			sets = append(sets, c.name+" = "+values.Replace(string(c.rule)))
		}
	}
	action := "nothing"
	if len(sets) > 0 {
		action = "update set " + strings.Join(sets, ", ")
	}
	return fmt.Sprintf("insert into %s (%s) %s on conflict (%s) do %s",
		t.name, strings.Join(names, ", "), source, strings.Join(keys, ", "), action)
}

// fromValues is the source of one row.
func (t Table[Row]) fromValues() string {
	return "values (" + strings.Join(slices.Repeat([]string{"?"}, len(t.columns)), ", ") + ")"
}

// fromJSON is the source of many rows: a list of lists.
func (t Table[Row]) fromJSON() string {
	var values []string
	for i, c := range t.columns {
		values = append(values, fmt.Sprintf("cast(value ->> %d as %s)", i, c.kind))
	}
	return "select " + strings.Join(values, ", ") + " from json_each($1)"
}

func (t Table[Row]) asJSON(rows []Row) string {
	lists := make([][]any, len(rows))
	for i := range rows {
		lists[i] = t.values(&rows[i])
	}
	return asJSON(lists)
}

func asJSON(lists any) string {
	text, err := json.Marshal(lists)
	if err != nil {
		panic(err) // only for other values than text and numbers
	}
	return string(text)
}

// Numbers are the numbers of clients, by name.
func (t *Session) Numbers(names []string) map[string]int64 {
	lists := make([][]string, len(names))
	for i, name := range names {
		lists[i] = []string{name}
	}
	numbers := make(map[string]int64, len(names))
	var id int64
	var name string
	t.Each("select id, name from usage_names where name in (select value ->> 0 from json_each($1))",
		[]any{asJSON(lists)}, []any{&id, &name}, func() { numbers[name] = id })
	return numbers
}
