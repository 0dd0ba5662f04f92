package evidence

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// csvChunk is of how many clients the days are read at a time.
const csvChunk = 10_000

// WriteCSV writes the clients that match a query, one a line, with a column for each
// day, version by version. An error before the first line leaves out untouched.
func (db *DB) WriteCSV(ctx context.Context, q Query, out io.Writer) error {
	var found []*Client
	var at time.Time
	err := db.exclusive(ctx, func(ctx context.Context, now time.Time) error {
		p, err := db.page().period(ctx, now, now.Unix()/day)
		if err != nil {
			return err
		}
		all, err := db.readClients(ctx, p)
		found = q.of(all, now)
		at = now
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b *Client) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id))
	})
	today := Day(at.Unix() / day * day)
	w := csv.NewWriter(out)
	if err := w.Write(csvHeader(today)); err != nil {
		return err
	}
	for some := range slices.Chunk(found, csvChunk) {
		clients, err := db.load(ctx, some, at)
		if err != nil {
			return err
		}
		for i := range clients {
			if err := w.Write(clients[i].csvRow(today)); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// csvColumns are those before the days.
var csvColumns = []struct {
	name string
	of   func(*Client) string
}{
	{"version", func(c *Client) string { return c.Version }},
	{"client", func(c *Client) string { return plain(c.Client) }},
	{"known", func(c *Client) string { return strconv.FormatBool(c.Known) }},
	{"contact", func(c *Client) string { return plain(c.Contact.Contact) }},
	{"notes", func(c *Client) string { return plain(c.Notes) }},
	{"software", func(c *Client) string { return plain(c.Software) }},
	{"firstSeen", func(c *Client) string { return stamp(c.FirstSeen, time.RFC3339) }},
	{"lastSeen", func(c *Client) string { return stamp(c.LastSeen, time.RFC3339) }},
	{"calls7", func(c *Client) string { return number(c.Calls7) }},
	{"calls30", func(c *Client) string { return number(c.Calls30) }},
	{"calls90", func(c *Client) string { return number(c.Calls90) }},
	{"proven", func(c *Client) string { return number(c.Proven) }},
	{"claimed", func(c *Client) string { return number(c.Claimed) }},
	{"position", func(c *Client) string { return strconv.FormatFloat(c.Position, 'f', 6, 64) }},
	{"exempt", func(c *Client) string { return strconv.FormatBool(c.Exempt) }},
	{"last410", func(c *Client) string { return stamp(c.Last410, time.RFC3339) }},
	{"lastRehearsal", func(c *Client) string { return stamp(c.Rehearsed, time.RFC3339) }},
	{"moved", func(c *Client) string { return stamp(c.Moved, time.RFC3339) }},
	{"both", func(c *Client) string { return strconv.FormatBool(c.Both) }},
	{"markedMoved", func(c *Client) string { return plain(c.Marked.Sentence()) }},
	{"notified", func(c *Client) string { return stamp(c.Notified, time.DateOnly) }},
	{"finding", func(c *Client) string { return string(c.Finding()) }},
	{"reasons", func(c *Client) string { return plain(c.reasons()) }},
	{"found", func(c *Client) string { return stamp(c.Found, time.DateOnly) }},
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func stamp(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(layout)
}

func (c *Client) reasons() string {
	var all []string
	for _, f := range c.Findings {
		one := fmt.Sprintf("%s %s %s", f.Outcome, f.Code, f.Param)
		all = append(all, strings.Join(strings.Fields(one), " "))
	}
	return strings.Join(all, "; ")
}

func csvHeader(today Day) (header []string) {
	for _, column := range csvColumns {
		header = append(header, column.name)
	}
	for d := range Day(reportDays + 1) {
		header = append(header, (today - (reportDays-d)*day).String())
	}
	return header
}

func (c *Client) csvRow(today Day) (row []string) {
	for _, column := range csvColumns {
		row = append(row, column.of(c))
	}
	days := make([]string, reportDays+1)
	for _, d := range c.Days {
		days[reportDays-int64(today-d.Day)/day] = number(d.Calls)
	}
	return append(row, days...)
}

// formula is where a spreadsheet could take text that a client sent for a formula:
// at the start, and after anything that it may take for the end of a cell.
var formula = regexp.MustCompile(`(^|[,;|\t\r\n"])(\s*)([=+\-@])`)

func plain(text string) string { return formula.ReplaceAllString(text, "$1$2'$3") }
