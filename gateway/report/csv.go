package report

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/words"
)

// WriteCSV writes the clients that match a query, one a line, with a column for each
// day. They come in the order in which they were first seen, version by version, and
// few at a time are in memory. An error before the first line leaves out untouched.
func (r *Reader) WriteCSV(ctx context.Context, q Query, out io.Writer) error {
	const chunk = 1000
	at, err := r.UpToDate(ctx)
	if err != nil {
		return err
	}
	w := csv.NewWriter(out)
	header := []string{
		"version", "client", "known", "contact", "notes", "software", "firstSeen", "lastSeen",
		"calls7", "calls30", "calls90", "proven", "claimed", "position", "exempt", "last410", "lastRehearsal",
		"moved", "movedAs", "markedMoved", "notified", "finding", "reasons", "found",
	}
	today := Day(at.Unix() / day * day)
	for d := range Day(store.ReportDays) {
		header = append(header, (today - (store.ReportDays-1-d)*day).String())
	}
	if err := w.Write(header); err != nil {
		return err
	}
	db, column := r.DB.AskPages(ctx), "''"
	r.prepare(db, &q)
	from, where, args := q.sql(r.Current)
	if q.hits != nil {
		column = "n.name"
	}
	var name string
	var position float64
	var exempt bool
	written := 0
	for _, version := range r.Versions {
		for last := int64(0); ; {
			var keys []clientKey
			read := 0
			next := fmt.Sprintf("select c.client, %s, c.position, c.exempt = 1 from %s where %s "+
				"and c.version = $%d and c.client > $%d order by c.client limit %d",
				column, from, where, len(args)+1, len(args)+2, chunk)
			db.Each(next, append(slices.Clone(args), version, last),
				[]any{&last, &name, &position, &exempt}, func() {
					read++
					if q.hits == nil || q.hits(lifecycle.Recorded(name, position, exempt)) {
						keys = append(keys, clientKey{version, last})
					}
				})
			clients := r.load(db, keys, at)
			if db.Err != nil {
				return fmt.Errorf("after %s: %w", words.Count(written, "client", "clients"), db.Err)
			}
			written += len(clients)
			for i := range clients {
				if err := w.Write(clients[i].fields(today)); err != nil {
					return err
				}
			}
			if read < chunk {
				break
			}
		}
	}
	w.Flush()
	return w.Error()
}

func (c *Client) fields(today Day) []string {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	in := func(layout string, t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(layout)
	}
	when := func(t time.Time) string { return in(time.RFC3339, t) }
	var reasons []string
	for _, f := range c.Findings {
		reason := fmt.Sprintf("%s %s %s", f.Outcome, f.Code, f.Param)
		reasons = append(reasons, strings.Join(strings.Fields(reason), " "))
	}
	fields := []string{
		c.Version, plain(c.Client), strconv.FormatBool(c.Known), plain(c.Contact.Contact), plain(c.Notes),
		plain(c.Software), when(c.FirstSeen), when(c.LastSeen),
		number(c.Calls7), number(c.Calls30), number(c.Calls90), number(c.Proven), number(c.Claimed),
		strconv.FormatFloat(c.Position, 'f', 6, 64), strconv.FormatBool(c.Exempt), when(c.Last410), when(c.Rehearsed),
		when(c.Moved), plain(c.MovedAs), plain(c.Marked.Sentence()), in(time.DateOnly, c.Notified),
		string(c.Finding()), plain(strings.Join(reasons, "; ")), in(time.DateOnly, c.Found),
	}
	days := make([]string, store.ReportDays)
	for _, d := range c.Days {
		if i := int64(store.ReportDays-1) - int64(today-d.Day)/day; i >= 0 && i < store.ReportDays {
			days[i] = number(d.Calls)
		}
	}
	return append(fields, days...)
}

// formula is where a spreadsheet could take text that a client sent for a formula:
// at the begin, and after anything that it may take for the end of a cell.
var formula = regexp.MustCompile(`(^|[,;|\t\r\n"])(\s*)([=+\-@])`)

func plain(text string) string {
	if !strings.ContainsAny(text, ",;|\t\r\n\"") && !strings.ContainsAny(text[:min(1, len(text))], " =+-@") {
		return text // as nearly all are, without the work of a pattern
	}
	return formula.ReplaceAllString(text, "$1$2'$3")
}
