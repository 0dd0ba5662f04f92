package admin

import (
	"context"
	"net/http"
	"strconv"
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
		h.unavailable(w, facts)
		return
	}
	h.send(w, http.StatusOK)(showClients(facts, query, traffic))
}

// query reads which clients a request asks for. A window is one of the plan in force.
func (h *handler) query(r *http.Request) (usage.Query, error) {
	query, err := usage.ParseQuery(r.URL.Query(), h.Versions)
	if err == nil && query.Window != "" && h.Plan != nil {
		err = query.Choose(h.Plan().Plan)
	}
	return query, err
}

// usageJSON answers 400 to a wrong query, and 503 while the counts cannot be read.
func (h *handler) usageJSON(w http.ResponseWriter, r *http.Request) {
	query, err := h.query(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	report, err := h.Usage.Report(r.Context(), query)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, "The counts cannot be read: "+err.Error())
		return
	}
	reply(w, http.StatusOK, report)
}

// usageCSV sends all clients, as they are read.
func (h *handler) usageCSV(w http.ResponseWriter, r *http.Request) {
	query, err := h.query(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	out := &attachment{ResponseWriter: w}
	if err := h.Usage.WriteCSV(r.Context(), query, out); err != nil && !out.begun {
		fail(w, http.StatusServiceUnavailable, "The counts cannot be read: "+err.Error())
	} else if err != nil {
		h.Log.Warn("admin: a table of clients ends early", "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes it for the whole
	}
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

// clientRow is a row of the table of clients.
type clientRow struct {
	*usage.Client
	Path   string
	Window string // in the next window?
	Reason string
	Bad    bool // the current version would not do the same
	More   int  // findings beside the worst
}

func (f *Facts) clientRow(c *usage.Client) clientRow {
	row := clientRow{Client: c, Path: clientPath(c.Client), Window: f.inNext(c)}
	worst := c.Finding()
	if len(c.Findings) > 0 {
		row.Reason = c.Findings[0].Short()
	}
	row.More = max(0, len(c.Findings)-1)
	row.Bad = worst == event.Refused || worst == event.DifferentMoney
	return row
}

// inNext says whether the open or next window of a client's version refuses it.
func (f *Facts) inNext(c *usage.Client) string {
	s := f.schedule(c.Version)
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

func (f *Facts) clientRows(clients []*usage.Client) (rows []clientRow) {
	for _, c := range clients {
		rows = append(rows, f.clientRow(c))
	}
	return rows
}

// column is the head of a column. Path sorts by it; empty if it cannot.
type column struct {
	Text, Path, About string
	Number, Sorted    bool
}

// columns are the heads of the table of clients. If plain, they do not sort.
func (f *Facts) columns(q usage.Query, plain bool) []column {
	all := []struct{ text, sort, about string }{
		{"Client", "name", ""}, {"On " + f.current(), "", "What the current version would answer to this client's calls"}, {"Next window?", "position", "Whether the open or next window refuses it"},
		{"Last seen", "last", ""}, {"7 days", "calls7", "Calls of the last 7 days"}, {"30 days", "calls30", "Calls of the last 30 days"}, {"90 days", "calls", "Calls of the last 90 days"},
		{"Moved", "", "When the current version last served it, if after its last call here"}, {"Version", "", ""}, {"Software", "", ""},
		{"Last 410", "", "When it was last refused"}, {"Rehearsed", "", "When it last rehearsed a later stage"},
	}
	var heads []column
	for _, c := range all {
		head := column{Text: c.text, About: c.about, Number: strings.HasSuffix(c.text, "days")}
		if c.sort != "" && !plain {
			by := q
			by.Sort, by.Page = c.sort, 0
			head.Path, head.Sorted = clientsPath(by), q.Sort == c.sort
		}
		heads = append(heads, head)
	}
	return heads
}

// clientsPath is the address of a table of clients.
func clientsPath(q usage.Query) string {
	if values := q.Values().Encode(); values != "" {
		return "/clients?" + values
	}
	return "/clients"
}

// filter is a row of links, of which one is in force.
type filter struct {
	Name    string
	Choices []choice
}

type choice struct {
	Text, Path string
	Chosen     bool
}

func (f *Facts) filters(q usage.Query) []filter {
	choose := func(name, value string, set func(*usage.Query, string), options ...[2]string) filter {
		all := filter{Name: name}
		for _, o := range append([][2]string{{"", "all"}}, options...) {
			by := q
			by.Page = 0
			set(&by, o[0])
			all.Choices = append(all.Choices, choice{o[1], clientsPath(by), o[0] == value})
		}
		return all
	}
	var versions [][2]string
	for _, v := range f.Plan.Versions {
		versions = append(versions, [2]string{v.Version, v.Version})
	}
	return []filter{
		choose("Version", q.Version, func(q *usage.Query, v string) { q.Version = v }, versions...),
		choose("Finding", string(q.Finding), func(q *usage.Query, v string) { q.Finding = event.Outcome(v) },
			[2]string{string(event.Refused), "refused"}, [2]string{string(event.DifferentMoney), "different money"}, [2]string{string(event.SameMoney), "new shape only"}),
		choose("Moved", q.Moved, func(q *usage.Query, v string) { q.Moved = v }, [2]string{"no", "not yet"}, [2]string{"yes", "yes"}),
		choose("Known", q.Known, func(q *usage.Query, v string) { q.Known = v }, [2]string{"yes", "yes"}, [2]string{"no", "no"}),
	}
}

// clientsPage is one page of clients.
type clientsPage struct {
	frame
	Facts          *Facts
	Query          usage.Query
	Filters        []filter
	Columns        []column
	Axis           []mark
	Heat           []heatRow
	Clients        []clientRow
	Previous, Next string
	CSV, JSON      string
	Others         []without
	Traffic        []traffic
}

// without is a filter or an order in force, and the address of the same list without.
type without struct{ Name, Value, Path, Text string }

// traffic adds up clients by a trait that they share.
type traffic struct {
	Title string
	Rows  []trafficRow
}

type trafficRow struct {
	usage.Traffic
	Path string
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
	all := []traffic{{Title: "By software"}, {Title: "By integrator"}}
	for _, row := range software {
		q.Software = row.Name
		all[0].Rows = append(all[0].Rows, trafficRow{row, clientsPath(q)})
	}
	for _, row := range integrators {
		all[1].Rows = append(all[1].Rows, trafficRow{row, clientPath(row.Name)})
	}
	return all, err
}

// showClients shows the page of clients that a query has given.
func showClients(f Facts, q usage.Query, traffic []traffic) ([]byte, error) {
	clients := f.clients()
	turn := func(page int) string {
		if page < 1 || page > f.Report.Pages {
			return ""
		}
		to := q
		to.Page = page
		return clientsPath(to)
	}
	var others []without
	for _, in := range []struct {
		name  string
		value *string
		text  string
	}{{"Software", &q.Software, "any software"}, {"Kind", &q.Kind, "any kind"}, {"Refused by the window of", &q.Window, "any client"}, {"Of old versions only", &q.Old, "all versions"}, {"Order by", &q.Sort, "known clients first"}} {
		if was, page := *in.value, q.Page; was != "" {
			*in.value, q.Page = "", 0
			others = append(others, without{in.name, was, clientsPath(q), in.text})
			*in.value, q.Page = was, page
		}
	}
	values := q.Values()
	values.Del("page")
	values.Del("per")
	data := values.Encode()
	return render("clients.html", clientsPage{
		frame: frame{Title: "Clients", Here: "/clients", At: f.Now.UTC()}, Facts: &f, Query: q,
		Filters: f.filters(q), Columns: f.columns(q, false), Axis: heatAxis(f.Now), Heat: f.heatRows(clients), Clients: f.clientRows(clients),
		Previous: turn(f.Report.Page - 1), Next: turn(f.Report.Page + 1), CSV: "/admin/usage.csv?" + data, JSON: "/admin/usage?" + data,
		Others: others, Traffic: traffic,
	})
}

// SoftwarePath lists the clients with the same software.
func (c clientRow) SoftwarePath() string { return clientsPath(usage.Query{Software: c.Software}) }

// Place is where the client stands in the order of which a window takes its share.
func (c clientRow) Place() string {
	if c.Position < 0 {
		return "its place in the order is not known"
	}
	return "its place in the order is " + strconv.FormatFloat(c.Position, 'f', 3, 64)
}
