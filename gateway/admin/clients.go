package admin

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strings"
	text "text/template"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/humanize"
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
	facts := h.counted(r, "Clients", query)
	if facts.Missing != "" {
		h.unavailable(w, r, facts.Missing)
		return
	}
	h.send(w, http.StatusOK, "clients.html", facts)
}

// query parses the filter of a request. A window is one of the plan in force.
func (h *handler) query(r *http.Request) (evidence.Query, error) {
	query, err := evidence.ParseQuery(r.URL.Query(), h.options.Versions)
	if err == nil && query.Window+query.Gate != "" {
		err = query.Choose(h.options.Plan().Plan)
	}
	return query, err
}

// queried answers 400 to an invalid query, and 503 while the counts cannot be read.
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
	report, err := h.options.Usage.Report(ctx, query)
	if err == nil {
		reply(w, http.StatusOK, report)
	}
	return err
}

// usageCSV sends all clients, as they are read.
func (h *handler) usageCSV(ctx context.Context, w http.ResponseWriter, query evidence.Query) error {
	out := &attachment{ResponseWriter: w}
	err := h.options.Usage.WriteCSV(ctx, query, out)
	if err != nil && out.begun {
		h.options.Log.Warn("admin: a table of clients ends early", "error", err)
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

// InWindow says whether the open or next window of a client's version refuses it. A client that
// has moved no longer calls the version, and is not counted either.
func (f *Facts) InWindow(c *evidence.Client) string {
	s := f.Schedule(c.Version)
	w := f.Window(c.Version)
	switch {
	case w == nil:
		return "no window"
	case c.HasMoved():
		return "no, moved"
	case s.Exempts(c.Subject()):
		return "no, exempt"
	case s.Hits(w.Brownout, c.Subject()):
		return "yes"
	}
	return "no"
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
func (f *Facts) Columns() []column {
	hasWindow := func(c *evidence.Client) bool { return f.Window(c.Version) != nil }
	isNotified := func(c *evidence.Client) bool { return !c.Notified.IsZero() }
	all := []column{
		{Text: "Client", Sort: "name"},
		{Text: "Version"},
		{Text: "On " + f.Current, About: "What " + f.Current + " would answer"},
		{Text: "Window", Sort: "position", About: "Whether the open or next one refuses it", has: hasWindow},
		{Text: "Last seen", Sort: "last"},
		{Text: "7 days", Sort: "calls7", About: "Calls in 7 days", Number: true},
		{Text: "30 days", Sort: "calls30", About: "Calls in 30 days", Number: true},
		{Text: "90 days", Sort: "calls", About: "Calls in 90 days", Number: true},
		{Text: "Moved", About: "Last served by " + f.Current + ", or marked by you", has: (*evidence.Client).HasMoved},
		{Text: "Notified", About: "By CLIENTS_FILE", has: isNotified},
		{Text: "Software", has: func(c *evidence.Client) bool { return c.Software != "" }},
		{Text: "Last 410", has: func(c *evidence.Client) bool { return !c.Last410.IsZero() }},
		{Text: "Rehearsed", has: func(c *evidence.Client) bool { return !c.Rehearsed.IsZero() }},
	}
	return slices.DeleteFunc(all, func(column column) bool {
		has := func(c evidence.Client) bool { return column.has == nil || column.has(&c) }
		return !slices.ContainsFunc(f.Report.Clients, has)
	})
}

// Shown is the set of columns that are shown.
func (f *Facts) Shown() map[string]bool {
	shown := map[string]bool{}
	for _, c := range f.Columns() {
		shown[c.Text] = true
	}
	return shown
}

// place is a client's position in the order from which a window takes its share.
func place(c *evidence.Client) string {
	if c.Position < 0 {
		return "position not known"
	}
	return fmt.Sprintf("position %.3f", c.Position)
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
func (f *Facts) Fixed() map[string]string {
	fixed := map[string]string{}
	values := f.Query.Values()
	for _, name := range []string{"old", "software", "kind", "window", "gate", "sort"} {
		if value := values.Get(name); value != "" && value != "yes" { // old versions are the default
			fixed[name] = value
		}
	}
	return fixed
}

func (h *handler) client(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("client")
	if name == "" {
		h.problem(w, r, http.StatusBadRequest, "No client given", "Add ?client= and the name of a client.")
		return
	}
	facts := h.counted(r, "", evidence.Query{Client: name})
	switch {
	case facts.Missing != "":
		h.unavailable(w, r, facts.Missing)
	case len(facts.Report.Clients) == 0:
		h.problem(w, r, http.StatusNotFound, "Not seen", "No client of this name in 90 days.")
	default:
		h.send(w, http.StatusOK, "client.html", facts.ofClient())
	}
}

// ofClient prepares the page of a client. The version that ends first comes first.
func (f *Facts) ofClient() *Facts {
	sooner := func(a, b evidence.Client) int { return f.end(a.Version).Compare(f.end(b.Version)) }
	f.Report.Clients = slices.SortedStableFunc(slices.Values(f.Report.Clients), sooner)
	f.Title = short(f.Report.Clients[0].Name())
	return f
}

var (
	//go:embed letter.txt
	letterText string

	letterTemplate = text.Must(text.New("").Funcs(functions).Parse(letterText))
)

// Letter is a text to a client, with its own numbers, the windows that refuse it and the steps
// that it has to take.
func (f *Facts) Letter(c *evidence.Client) (string, error) {
	s := f.dates(c.Version)
	to := f.Current
	moves := f.Moves[c.Version] // what every client has to do; the findings of its calls follow
	if moves == nil {
		moves = []string{fmt.Sprintf("Call %s instead of %s, and read the answer in its new format.", to, c.Version)}
	}
	windows := slices.DeleteFunc(slices.Clone(s.Brownouts), func(b lifecycle.Brownout) bool {
		return !b.To.After(f.Now) || !s.Hits(b, c.Subject())
	})
	steps := slices.Clone(moves)
	for _, finding := range c.Findings {
		if finding.Outcome != event.SameMoney {
			steps = append(steps, fmt.Sprintf("On %s, %s", humanize.Date(c.Found), finding.Sentence(c.Version, to)))
		}
	}
	var b strings.Builder
	err := letterTemplate.Execute(&b, struct {
		*evidence.Client
		To, Docs string
		Sunset   time.Time
		Ahead    bool // the sunset is in the future
		Windows  []lifecycle.Brownout
		Steps    []string
	}{c, to, s.Docs, s.Sunset, s.Sunset.After(f.Now), windows, steps})
	return b.String(), err
}
