package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/usage"
)

func (h *handler) clients(w http.ResponseWriter, r *http.Request) {
	query, err := h.query(r)
	if err != nil {
		h.problem(w, http.StatusBadRequest, "This cannot be shown", err.Error())
		return
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
func (h *handler) query(r *http.Request) (usage.Query, error) {
	query, err := usage.ParseQuery(r.URL.Query(), h.Versions)
	if err == nil && query.Window != "" {
		err = query.Choose(h.Plan().Plan)
	}
	return query, err
}

// queried answers 400 to a wrong query, and 503 while the counts cannot be read.
func (h *handler) queried(answer func(context.Context, http.ResponseWriter, usage.Query) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := h.query(r)
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
		} else if err := answer(r.Context(), w, query); err != nil {
			fail(w, http.StatusServiceUnavailable, "The counts cannot be read: "+err.Error())
		}
	}
}

func (h *handler) usageJSON(ctx context.Context, w http.ResponseWriter, query usage.Query) error {
	report, err := h.Usage.Report(ctx, query)
	if err == nil {
		reply(w, http.StatusOK, report)
	}
	return err
}

// usageCSV sends all clients, as they are read.
func (h *handler) usageCSV(ctx context.Context, w http.ResponseWriter, query usage.Query) error {
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
		a.Header().Set("Content-Disposition", `attachment; filename="usage-`+time.Now().UTC().Format(time.DateOnly)+`.csv"`)
	}
	return a.ResponseWriter.Write(p)
}

// InNext says whether the open or next window of a client's version refuses it.
func (f *Facts) InNext(c *usage.Client) string {
	s := f.Schedule(c.Version)
	b, ok := s.NextBrownout(f.Now)
	switch {
	case !ok:
		return "no window"
	case s.Exempts(c.Subject()):
		return "no, exempt"
	case s.Hits(b, c.Subject()):
		return "yes"
	}
	return "no"
}

// column is the head of a column. Path sorts by it; empty if it cannot.
type column struct {
	Text, sort, About, Path string
	Number, Sorted          bool
}

// columns are the heads of the table of clients. Without a query they do not sort.
func (f *Facts) columns(q *usage.Query) []column {
	all := []column{
		{Text: "Client", sort: "name"},
		{Text: "On " + f.Current(), About: "What the current version would answer to this client's calls"},
		{Text: "Next window?", sort: "position", About: "Whether the open or next window refuses it"},
		{Text: "Last seen", sort: "last"},
		{Text: "7 days", sort: "calls7", About: "Calls of the last 7 days", Number: true},
		{Text: "30 days", sort: "calls30", About: "Calls of the last 30 days", Number: true},
		{Text: "90 days", sort: "calls", About: "Calls of the last 90 days", Number: true},
		{Text: "Moved", About: "When the current version last served it, if after its last call here"},
		{Text: "Version"}, {Text: "Software"},
		{Text: "Last 410", About: "When it was last refused"}, {Text: "Rehearsed", About: "When it last rehearsed a later stage"},
	}
	for i := range all {
		if c := &all[i]; c.sort != "" && q != nil {
			c.Path, c.Sorted = clientsPath(*q, "sort", c.sort), q.Sort == c.sort
		}
	}
	return all
}

// clientsPath is the address of the clients of a query with another value of one of
// its parameters. It leads to the first page, unless that is the parameter.
func clientsPath(q usage.Query, name, value string) string {
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

func (f *Facts) filters(q usage.Query) (all []filter) {
	var versions []string
	for _, v := range f.Plan.Versions {
		versions = append(versions, v.Version, v.Version)
	}
	for _, by := range []struct {
		name, parameter string
		options         []string // values, each with its text
	}{
		{"Version", "version", versions},
		{"Finding", "finding", []string{string(event.Refused), "refused", string(event.DifferentMoney), "different money", string(event.SameMoney), "new shape only"}},
		{"Moved", "moved", []string{"no", "not yet", "yes", "yes"}},
		{"Known", "known", []string{"yes", "yes", "no", "no"}},
	} {
		row := filter{Name: by.name}
		for option := range slices.Chunk(append([]string{"", "all"}, by.options...), 2) {
			row.Choices = append(row.Choices, choice{option[1], clientsPath(q, by.parameter, option[0]), q.Values().Get(by.parameter) == option[0]})
		}
		all = append(all, row)
	}
	return all
}

type clientsPage struct {
	frame
	Query         usage.Query
	Filters       []filter
	Columns       []column
	Heat, Clients []usage.Client // the same
	CSV, JSON     string
	Traffic       []traffic
}

// traffic adds up clients by a trait that they share.
type traffic struct {
	Title string
	Rows  []usage.Traffic
	Path  func(name string) string // where the clients of a row are listed
}

// readTraffic adds up the clients of a query by software, and integrators one by one.
func (h *handler) readTraffic(ctx context.Context, q usage.Query) ([]traffic, error) {
	q.Page, q.Per, q.Sort = 0, 0, ""
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
func newClientsPage(f *Facts, q usage.Query, traffic []traffic) clientsPage {
	clients, values := f.Report.Clients, q.Values()
	values.Del("page")
	values.Del("per")
	p := clientsPage{
		frame: frame{Title: "Clients", Here: "/clients", Facts: f}, Query: q, Filters: f.filters(q), Columns: f.columns(&q), Heat: clients, Clients: clients,
		CSV: "/admin/usage.csv?" + values.Encode(), JSON: "/admin/usage?" + values.Encode(), Traffic: traffic,
	}
	for _, in := range [][3]string{
		{"software", "Software", "any software"}, {"kind", "Kind", "any kind"}, {"window", "Refused by the window of", "any client"},
		{"old", "Of old versions only", "all versions"}, {"sort", "Order by", "known clients first"},
	} {
		if value := values.Get(in[0]); value != "" {
			p.Filters = append(p.Filters, filter{in[1], value, []choice{{in[2], clientsPath(q, in[0], ""), false}}})
		}
	}
	return p
}

func softwarePath(name string) string { return clientsPath(usage.Query{}, "software", name) }
