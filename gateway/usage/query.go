package usage

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quotegate/quotegate/gateway/event"
)

// Query chooses the clients of a report. Its zero value is the first page of all.
type Query struct {
	Version  string
	Finding  event.Outcome
	Software string
	Client   string // the exact name
	Known    string // yes, no
	Sort     string // a key of orders; known clients first if empty
	Page     int    // from 1
	Per      int    // clients a page
}

const (
	defaultPer = 100
	maxPer     = 1000
	maxPage    = 1_000_000
)

// orders are the ways to sort clients.
var orders = map[string]func(a, b *Client) int{
	"calls":    func(a, b *Client) int { return cmp.Compare(b.Calls90, a.Calls90) },
	"calls30":  func(a, b *Client) int { return cmp.Compare(b.Calls30, a.Calls30) },
	"calls7":   func(a, b *Client) int { return cmp.Compare(b.Calls7, a.Calls7) },
	"first":    func(a, b *Client) int { return a.FirstSeen.Compare(b.FirstSeen) },
	"last":     func(a, b *Client) int { return b.LastSeen.Compare(a.LastSeen) },
	"name":     func(a, b *Client) int { return cmp.Compare(a.Client, b.Client) },
	"position": func(a, b *Client) int { return cmp.Compare(a.Position, b.Position) },
}

// ParseQuery reads a query from the parameters of a URL. The error says what is
// wrong and what would be right.
func ParseQuery(values url.Values, versions []string) (q Query, err error) {
	known := []string{"version", "finding", "software", "client", "known", "sort", "page", "per"}
	for name, given := range values {
		if !slices.Contains(known, name) {
			return q, fmt.Errorf("%.40q is not a parameter; there are %s", name, strings.Join(known, ", "))
		}
		if len(given) > 1 {
			return q, fmt.Errorf("%s is given %d times; give it once", name, len(given))
		}
	}
	q = Query{
		Version: values.Get("version"), Finding: event.Outcome(values.Get("finding")), Software: strings.ToLower(values.Get("software")),
		Client: values.Get("client"), Known: values.Get("known"), Sort: values.Get("sort"),
	}
	one := func(name, value string, of []string) {
		if err == nil && value != "" && !slices.Contains(of, value) {
			err = fmt.Errorf("%s %.40q is none of %s", name, value, strings.Join(of, ", "))
		}
	}
	one("version", q.Version, versions)
	one("finding", string(q.Finding), []string{string(event.Refused), string(event.DifferentMoney), string(event.SameMoney)})
	one("known", q.Known, []string{"yes", "no"})
	one("sort", q.Sort, slices.Sorted(maps.Keys(orders)))
	number := func(name string, most int) (n int) {
		if text := values.Get(name); text != "" && err == nil {
			if n, err = strconv.Atoi(text); err != nil || n < 1 || n > most {
				err = fmt.Errorf("%s %.40q is not a number from 1 to %d", name, text, most)
			}
		}
		return n
	}
	q.Page, q.Per = number("page", maxPage), number("per", maxPer)
	return q, err
}

// Values are the parameters that ParseQuery reads back.
func (q Query) Values() url.Values {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("version", q.Version)
	set("finding", string(q.Finding))
	set("software", q.Software)
	set("client", q.Client)
	set("known", q.Known)
	set("sort", q.Sort)
	if q.Page > 1 {
		set("page", strconv.Itoa(q.Page))
	}
	if q.Per > 0 {
		set("per", strconv.Itoa(q.Per))
	}
	return values
}

func (q Query) matches(c *Client) bool {
	return (q.Version == "" || q.Version == c.Version) &&
		(q.Finding == "" || q.Finding == c.Finding()) &&
		(q.Software == "" || q.Software == c.Software) &&
		(q.Client == "" || q.Client == c.Client) &&
		(q.Known == "" || (q.Known == "yes") == c.Known)
}

// page puts one page of the matching clients into a report.
func (q Query) page(r *Report, clients []Client) {
	matching := make([]*Client, 0, len(clients)) // a Client is large, and sorting moves it often
	for i := range clients {
		if q.matches(&clients[i]) {
			matching = append(matching, &clients[i])
		}
	}
	order := orders[q.Sort]
	slices.SortStableFunc(matching, func(a, b *Client) int {
		if order != nil {
			return cmp.Or(order(a, b), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Version, b.Version))
		}
		return cmp.Or(knownFirst(a, b), orders["calls"](a, b), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Version, b.Version))
	})
	per := cmp.Or(q.Per, defaultPer)
	r.Matching, r.Pages = len(matching), max(1, (len(matching)+per-1)/per)
	r.Page = min(max(1, q.Page), r.Pages)
	from := (r.Page - 1) * per
	r.Clients = []Client{}
	for _, c := range matching[from:min(from+per, len(matching))] {
		r.Clients = append(r.Clients, *c)
	}
}

func knownFirst(a, b *Client) int {
	switch {
	case a.Known == b.Known:
		return 0
	case a.Known:
		return -1
	}
	return 1
}
