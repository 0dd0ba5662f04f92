package admin

import (
	"net/http"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/gateway/evidence"
)

func (h *handler) clients(w http.ResponseWriter, r *http.Request) {
	query, err := h.query(r)
	if err != nil {
		h.problem(w, r, http.StatusBadRequest, "Invalid filter", err.Error())
		return
	}
	if query.Version == "" && query.Old == "" {
		query.Old = "yes" // the page is about the clients that have to move
	}
	p, report, err := h.counted(r, "Clients", query)
	if err != nil {
		h.unavailable(w, r, err)
		return
	}
	h.send(w, http.StatusOK, "clients.html", &clientsPage{p, query, report})
}

// clientsPage lists the clients of a query.
type clientsPage struct {
	page
	Query  evidence.Query
	Report evidence.Report
}

// query parses the filter of a request. A window is one of the plan in force.
func (h *handler) query(r *http.Request) (evidence.Query, error) {
	return evidence.ParseQuery(r.URL.Query(), h.options.Versions, h.options.Plan().Plan)
}

// column is a column of the table of clients.
type column struct {
	Text, Sort, About string
	Number            bool
	has               func(*evidence.Client) bool // hidden if no client has a value; nil: always shown
}

// Direction is the order in which the column sorts.
func (c column) Direction() string {
	if c.Sort == "name" || c.Sort == "position" {
		return "ascending"
	}
	return "descending"
}

// Columns are those of the table of clients that have a value. The first is its name.
func (p *clientsPage) Columns() []column {
	hasWindow := func(c *evidence.Client) bool { return p.Window(c.Version) != nil }
	isNotified := func(c *evidence.Client) bool { return !c.Notified.IsZero() }
	isMoving := func(c *evidence.Client) bool { return c.HasMoved() || c.Both }
	all := []column{
		{Text: "Client", Sort: "name"},
		{Text: "Version"},
		{Text: "On " + p.Current, About: "What " + p.Current + " would answer"},
		{Text: "Window", Sort: "position", About: "Whether the open or next one refuses it", has: hasWindow},
		{Text: "Last seen", Sort: "last"},
		{Text: "7 days", Sort: "calls7", About: "Calls in 7 days", Number: true},
		{Text: "30 days", Sort: "calls30", About: "Calls in 30 days", Number: true},
		{Text: "90 days", Sort: "calls", About: "Calls in 90 days", Number: true},
		{Text: "Moved", About: "Last served by " + p.Current + ", or marked by you", has: isMoving},
		{Text: "Notified", About: "By CLIENTS_FILE", has: isNotified},
		{Text: "Software", has: func(c *evidence.Client) bool { return c.Software != "" }},
		{Text: "Last 410", has: func(c *evidence.Client) bool { return !c.Last410.IsZero() }},
		{Text: "Rehearsed", has: func(c *evidence.Client) bool { return !c.Rehearsed.IsZero() }},
	}
	return slices.DeleteFunc(all, func(column column) bool {
		has := func(c evidence.Client) bool { return column.has == nil || column.has(&c) }
		return !slices.ContainsFunc(p.Report.Clients, has)
	})
}

// Shown is the set of columns that are shown.
func (p *clientsPage) Shown() map[string]bool {
	shown := map[string]bool{}
	for _, c := range p.Columns() {
		shown[c.Text] = true
	}
	return shown
}

// queryPath is the path of a query with another value of one of its parameters. It leads to the
// first page, unless the parameter is the page.
func queryPath(path string, q evidence.Query, name, value string) string {
	values := q.Values()
	values.Del("page")
	values.Set(name, value)
	if value == "" {
		values.Del(name)
	}
	return strings.TrimSuffix(path+"?"+values.Encode(), "?")
}

func softwarePath(name string) string {
	return queryPath("/clients", evidence.Query{}, "software", name)
}

// Fixed are the parameters that the form does not change.
func (p *clientsPage) Fixed() map[string]string {
	fixed := map[string]string{}
	values := p.Query.Values()
	for _, name := range []string{"old", "software", "kind", "window", "gate", "sort"} {
		if value := values.Get(name); value != "" && value != "yes" { // old versions are the default
			fixed[name] = value
		}
	}
	return fixed
}
