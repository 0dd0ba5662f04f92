package page

import (
	"strconv"
	"strings"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/usage"
)

const (
	overviewHeat    = 30 // rows of the heat map on the overview
	overviewClients = 20
	fileHeat        = 200
	fileClients     = 1000

	// OverviewClients and FileClients are how many clients the overview and the file
	// show at most: a report for them needs no more.
	OverviewClients = max(overviewHeat, overviewClients)
	FileClients     = max(fileHeat, fileClients)
)

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

// left are the clients of the report.
func (f *Facts) left() (clients []*usage.Client) {
	for i := range f.Report.Clients {
		clients = append(clients, &f.Report.Clients[i])
	}
	return clients
}

// overview is the first page, and the file.
type overview struct {
	frame
	Facts       *Facts
	Plan        planView
	Versions    []versionView
	Comparisons []comparison
	Axis        []mark
	Heat        []heatRow
	Clients     []clientRow
	Columns     []column
	Left        int    // rows of clients, of which Heat and Clients show the first
	Callers     int    // how many clients they are: one may call several versions
	Current     string // the version that they should move to
}

func newOverview(f *Facts, heat, clients int) overview {
	left := f.left()
	return overview{
		frame: frame{Title: "Versions", Here: "/", At: f.Now.UTC()}, Facts: f,
		Plan: f.planView(), Versions: f.versions(), Comparisons: f.comparisons(), Axis: heatAxis(f.Now),
		Heat: f.heatRows(left[:min(len(left), heat)]), Clients: f.clientRows(left[:min(len(left), clients)]),
		Columns: f.columns(usage.Query{}, true), Left: f.Report.Matching, Callers: f.Report.Distinct, Current: f.current(),
	}
}

// Overview shows the versions, and the clients that have to move. The report must
// have the first clients of old versions.
func Overview(f Facts) ([]byte, error) {
	return render("overview.html", newOverview(&f, overviewHeat, overviewClients))
}

// File is the overview as a file of its own, with more clients.
func File(f Facts) ([]byte, error) {
	o := newOverview(&f, fileHeat, fileClients)
	o.File = true
	for i := range o.Heat {
		o.Heat[i].Path = ""
	}
	for i := range o.Clients {
		o.Clients[i].Path = ""
	}
	return render("overview.html", o)
}

// column is the head of a column. Path sorts by it; empty if it cannot.
type column struct {
	Text, Path, About string
	Number, Sorted    bool
}

// columns are the heads of the table of clients. If plain, they do not sort.
func (f *Facts) columns(q usage.Query, plain bool) []column {
	all := []struct{ text, sort, about string }{
		{"Client", "name", ""}, {"Version", "", ""}, {"Software", "", ""}, {"Last seen", "last", ""},
		{"7 days", "calls7", "Calls of the last 7 days"}, {"30 days", "calls30", "Calls of the last 30 days"}, {"90 days", "calls", "Calls of the last 90 days"},
		{"Next window?", "position", "Whether the open or next window refuses it"}, {"On " + f.current(), "", "What the current version would answer to this client's calls"},
		{"Last 410", "", "When it was last refused"}, {"Rehearsed", "", "When it last rehearsed a later stage"}, {"Moved", "", "When the current version last served it, if after its last call here"},
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
	NoSoftware     string // the same without the filter by software
	Usual          string // the same in the usual order
}

// Clients shows the page of clients that a query has given.
func Clients(f Facts, q usage.Query) ([]byte, error) {
	clients := f.left()
	turn := func(page int) string {
		if page < 1 || page > f.Report.Pages {
			return ""
		}
		to := q
		to.Page = page
		return clientsPath(to)
	}
	without := func(change func(*usage.Query)) string {
		to := q
		to.Page = 0
		change(&to)
		return clientsPath(to)
	}
	values := q.Values()
	values.Del("page")
	values.Del("per")
	data := values.Encode()
	return render("clients.html", clientsPage{
		frame: frame{Title: "Clients", Here: "/clients", At: f.Now.UTC()}, Facts: &f, Query: q,
		Filters: f.filters(q), Columns: f.columns(q, false), Axis: heatAxis(f.Now), Heat: f.heatRows(clients), Clients: f.clientRows(clients),
		Previous: turn(f.Report.Page - 1), Next: turn(f.Report.Page + 1), CSV: "/admin/usage.csv?" + data, JSON: "/admin/usage?" + data,
		NoSoftware: without(func(q *usage.Query) { q.Software = "" }), Usual: without(func(q *usage.Query) { q.Sort = "" }),
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
