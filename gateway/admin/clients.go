package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/shared/humanize"
)

func (h *handler) clients(w http.ResponseWriter, r *http.Request) {
	query, err := h.query(r)
	if err != nil {
		h.problem(w, http.StatusBadRequest, "Invalid filter", err.Error())
		return
	}
	if query.Version == "" && query.Old == "" {
		query.Old = "yes" // those who have to move are what the page is about
	}
	facts := h.facts(r, query)
	traffic, err := h.readTraffic(r.Context(), query)
	if err != nil {
		facts.Missing = err.Error()
	}
	if facts.Missing != "" {
		h.unavailable(w, facts.Missing)
		return
	}
	h.send(w, http.StatusOK, "clients.html", newClientsPage(facts, query, traffic))
}

// query reads which clients a request asks for. A window is one of the plan in force.
func (h *handler) query(r *http.Request) (evidence.Query, error) {
	query, err := evidence.ParseQuery(r.URL.Query(), h.Versions)
	if err == nil && query.Window+query.Gate != "" {
		err = query.Choose(h.Plan().Plan)
	}
	return query, err
}

// queried answers 400 to a wrong query, and 503 while the counts cannot be read.
func (h *handler) queried(answer func(context.Context, http.ResponseWriter, evidence.Query) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := h.query(r)
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
		} else if err := answer(r.Context(), w, query); err != nil {
			fail(w, http.StatusServiceUnavailable, "The counts cannot be read: "+err.Error())
		}
	}
}

func (h *handler) usageJSON(ctx context.Context, w http.ResponseWriter, query evidence.Query) error {
	report, err := h.Usage.Report(ctx, query)
	if err == nil {
		reply(w, http.StatusOK, report)
	}
	return err
}

// usageCSV sends all clients, as they are read.
func (h *handler) usageCSV(ctx context.Context, w http.ResponseWriter, query evidence.Query) error {
	out := &attachment{ResponseWriter: w}
	err := h.Usage.WriteCSV(ctx, query, out)
	if err != nil && out.begun {
		h.Log.Warn("admin: a table of clients ends early", "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes it for the whole
	}
	return err
}

// attachment sets the headers of a file when its first bytes are written.
type attachment struct {
	http.ResponseWriter
	begun bool
}

func (a *attachment) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		a.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
		name := "usage-" + time.Now().UTC().Format(time.DateOnly) + ".csv"
		a.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	}
	return a.ResponseWriter.Write(p)
}

// InNext says whether the open or next window of a client's version refuses it. One
// that has moved does not call the version any more, and is not counted either.
func (f *Facts) InNext(c *evidence.Client) string {
	s := f.Schedule(c.Version)
	b, ok := s.NextBrownout(f.Now)
	switch {
	case !ok:
		return "no window"
	case c.HasMoved():
		return "no, moved"
	case s.Exempts(c.Subject()):
		return "no, exempt"
	case s.Hits(b, c.Subject()):
		return "yes"
	}
	return "no"
}

// column is a column of the table of clients, of which the first is the name. Path sorts by it; empty
// if it cannot.
type column struct {
	Text, sort, About, Path string
	Number, Sorted          bool

	cell func(*evidence.Client) cell
}

// cell is a value of a column.
type cell struct {
	Text, About, Path string
	Wrong             bool
}

// Cell is the value of a client.
func (c column) Cell(client *evidence.Client) cell { return c.cell(client) }

func dateCell(t time.Time) cell { return cell{Text: humanize.DayMonth(t), About: humanize.DateTime(t)} }

func callsCell(n uint64) cell { return cell{Text: humanize.Number(n)} }

// columns are those of the table of clients in which at least one of them has a value.
// Without a query they do not sort.
func (f *Facts) columns(q *evidence.Query, clients []evidence.Client) []column {
	all := []column{
		{Text: "Client", sort: "name", cell: func(c *evidence.Client) cell { return cell{Text: c.Client} }},
		{Text: "Version", cell: func(c *evidence.Client) cell { return cell{Text: c.Version} }},
		{Text: "On " + f.Current, About: "What " + f.Current + " would answer", cell: findingCell},
		{Text: "Next window", sort: "position", About: "Whether it is refused", cell: f.nextCell},
		{Text: "Last seen", sort: "last", cell: func(c *evidence.Client) cell { return dateCell(c.LastSeen) }},
		{Text: "7 days", sort: "calls7", About: "Calls in 7 days", Number: true,
			cell: func(c *evidence.Client) cell { return callsCell(c.Calls7) }},
		{Text: "30 days", sort: "calls30", About: "Calls in 30 days", Number: true,
			cell: func(c *evidence.Client) cell { return callsCell(c.Calls30) }},
		{Text: "90 days", sort: "calls", About: "Calls in 90 days", Number: true,
			cell: func(c *evidence.Client) cell { return callsCell(c.Calls90) }},
		{Text: "Moved", About: "Last served by " + f.Current + ", or marked by you", cell: movedCell},
		{Text: "Told", About: "By CLIENTS_FILE", cell: func(c *evidence.Client) cell { return dateCell(c.Notified) }},
		{Text: "Software", cell: func(c *evidence.Client) cell {
			return cell{Text: short(c.Software), About: clean(c.Software), Path: softwarePath(c.Software)}
		}},
		{Text: "Last 410", cell: func(c *evidence.Client) cell { return dateCell(c.Last410) }},
		{Text: "Rehearsed", cell: func(c *evidence.Client) cell { return dateCell(c.Rehearsed) }},
	}
	if q != nil {
		for i := range all {
			if c := &all[i]; c.sort != "" {
				c.Path = clientsPath(*q, "sort", c.sort)
				c.Sorted = q.Sort == c.sort
			}
		}
	}
	return slices.DeleteFunc(all, func(c column) bool {
		if c.Text == "Version" && q != nil && q.Version != "" {
			return true
		}
		return !slices.ContainsFunc(clients, func(client evidence.Client) bool { return c.cell(&client).Text != "" })
	})
}

func findingCell(c *evidence.Client) cell {
	if len(c.Findings) == 0 {
		return cell{}
	}
	text := clean(c.Findings[0].Short())
	if more := len(c.Findings) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return cell{Text: text, Wrong: c.Finding() == event.Refused && !c.HasMoved()}
}

func (f *Facts) nextCell(c *evidence.Client) cell {
	if _, coming := f.Schedule(c.Version).NextBrownout(f.Now); !coming {
		return cell{}
	}
	return cell{Text: f.InNext(c), About: place(c)}
}

// place is where a client stands in the order of which a window takes its share.
func place(c *evidence.Client) string {
	if c.Position < 0 {
		return "position " + notKnown
	}
	return fmt.Sprintf("position %.3f", c.Position)
}

func movedCell(c *evidence.Client) cell {
	if c.Moved.IsZero() && c.Marked != nil {
		return cell{Text: "marked", About: humanize.Date(c.Marked.On.Time()) + ": " + clean(c.Marked.Why)}
	}
	return dateCell(c.Moved)
}

// clientsPath is the address of the clients of a query with another value of one of
// its parameters. It leads to the first page, unless that is the parameter.
func clientsPath(q evidence.Query, name, value string) string {
	values := q.Values()
	values.Del("page")
	values.Set(name, value)
	if value == "" {
		values.Del(name)
	}
	return strings.TrimSuffix("/clients?"+values.Encode(), "?")
}

// filter is a row of links, of which one is in force.
type filter struct {
	Name, Value string // Value is in force if it is not among the choices
	Choices     []choice
}

type choice struct {
	Text, Path string
	Chosen     bool
}

// option is a value of a parameter, and the text of its link.
type option struct{ value, text string }

func (f *Facts) filters(q evidence.Query) []filter {
	all := []filter{f.versionFilter(q)}
	for _, by := range []struct {
		name, parameter string
		options         []option
	}{
		{"On " + f.Current, "finding", []option{
			{string(event.Refused), "refused"}, {string(event.DifferentMoney), "different amount"},
			{string(event.SameMoney), "same amounts"}, {"none", "not compared"},
		}},
		{"Moved", "moved", []option{{"no", "no"}, {"yes", "yes"}}},
		{"Told", "told", []option{{"yes", "yes"}, {"no", "no"}}},
		{"Known", "known", []option{{"yes", "yes"}, {"no", "no"}}},
	} {
		row := filter{Name: by.name}
		for _, o := range append([]option{{"", "all"}}, by.options...) {
			chosen := q.Values().Get(by.parameter) == o.value
			row.Choices = append(row.Choices, choice{o.text, clientsPath(q, by.parameter, o.value), chosen})
		}
		all = append(all, row)
	}
	return all
}

// versionFilter chooses the old versions, one version, or all of them.
func (f *Facts) versionFilter(q evidence.Query) filter {
	row := filter{Name: "Version"}
	add := func(text, version, old string) {
		chosen := q.Version == version && q.Old == old
		other := q
		other.Version = version
		other.Old = old
		other.Window = "" // which is one of a version
		row.Choices = append(row.Choices, choice{text, clientsPath(other, "page", ""), chosen})
	}
	add("old", "", "yes")
	for _, v := range f.Plan.Versions {
		add(v.Version, v.Version, "")
	}
	add("all", "", "all")
	return row
}

type clientsPage struct {
	frame
	Query         evidence.Query
	Filters       []filter
	Columns       []column
	Heat, Clients []evidence.Client // the same
	CSV, JSON     string
	Traffic       []traffic
}

// Whom says how many clients of which versions the page lists.
func (p clientsPage) Whom() string {
	clients := humanize.Count(p.Report.Distinct, "client", "clients")
	switch {
	case p.Report.Distinct == 0:
		return "No client matches"
	case p.Query.Gate != "":
		return clients + " of " + p.Query.Version + " counted by the gate"
	case p.Query.Version != "":
		return clients + " of " + p.Query.Version + " in 90 days"
	case p.Query.Old == "yes":
		return clients + " of old versions in 90 days"
	}
	return clients + " in 90 days"
}

// Unnamed reports whether the clients may be known by their software alone.
func (p clientsPage) Unnamed() bool {
	return p.Query.Software != "" || p.Query.Kind == string(caller.Agent)
}

// parameter is one of a query.
type parameter struct{ Name, Value string }

// Kept are the parameters that a search leaves as they are.
func (p clientsPage) Kept() (all []parameter) {
	values := p.Query.Values()
	values.Del("search")
	values.Del("page")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, parameter{name, values.Get(name)})
	}
	return all
}

// traffic adds up clients by a trait that they share.
type traffic struct {
	Title string
	Rows  []evidence.Traffic
	Path  func(name string) string // where the clients of a row are listed
}

// readTraffic adds up the clients of a query by software, and integrators one by one.
func (h *handler) readTraffic(ctx context.Context, q evidence.Query) ([]traffic, error) {
	q.Page = 0
	q.Per = 0
	q.Sort = ""
	software, err := h.Usage.Traffic(ctx, q, "software")
	if err != nil {
		return nil, err
	}
	byIntegrator := q
	byIntegrator.Kind = string(caller.Integrator)
	integrators, err := h.Usage.Traffic(ctx, byIntegrator, "client")
	return []traffic{
		{"By software", software, func(name string) string { return clientsPath(q, "software", name) }},
		{"By integrator", integrators, clientPath},
	}, err
}

// newClientsPage shows the page of clients that a query has given.
func newClientsPage(f *Facts, q evidence.Query, traffic []traffic) clientsPage {
	clients := f.Report.Clients
	values := q.Values()
	values.Del("page")
	values.Del("per")
	p := clientsPage{
		frame: frame{Title: "Clients", Here: "/clients", Facts: f}, Query: q,
		Filters: f.filters(q), Columns: f.columns(&q, clients), Heat: clients, Clients: clients,
		CSV: "/admin/usage.csv?" + values.Encode(), JSON: "/admin/usage?" + values.Encode(), Traffic: traffic,
	}
	for _, by := range []struct{ parameter, name, without string }{
		{"software", "Software", "any software"},
		{"kind", "Kind", "any kind"},
		{"window", "Next window", "any client"},
		{"gate", "Gate", "any client"},
		{"sort", "Order", "known first"},
	} {
		if value := values.Get(by.parameter); value != "" {
			without := choice{Text: by.without, Path: clientsPath(q, by.parameter, "")}
			if begin, err := time.Parse(time.RFC3339, value); err == nil {
				value = humanize.DateTime(begin)
			}
			p.Filters = append(p.Filters, filter{by.name, value, []choice{without}})
		}
	}
	return p
}

func softwarePath(name string) string { return clientsPath(evidence.Query{}, "software", name) }
