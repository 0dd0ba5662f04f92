package report

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
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
	at, err := r.UpToDate(ctx)
	if err != nil {
		return err
	}
	today := Day(at.Unix() / day * day)
	w := csv.NewWriter(out)
	if err := w.Write(csvHeader(today)); err != nil {
		return err
	}
	db := r.DB.AskPages(ctx)
	r.prepare(db, &q)
	written := 0
	for _, version := range r.Versions {
		after := int64(0)
		for {
			keys, last, more := r.nextKeys(db, q, version, after)
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
			if !more {
				break
			}
			after = last
		}
	}
	w.Flush()
	return w.Error()
}

func csvHeader(today Day) []string {
	header := []string{
		"version", "client", "known", "contact", "notes", "software", "firstSeen", "lastSeen",
		"calls7", "calls30", "calls90", "proven", "claimed", "position", "exempt", "last410", "lastRehearsal",
		"moved", "movedAs", "markedMoved", "notified", "finding", "reasons", "found",
	}
	for d := range Day(store.ReportDays) {
		header = append(header, (today - (store.ReportDays-1-d)*day).String())
	}
	return header
}

// csvChunk is how many clients are looked at at a time.
const csvChunk = 1000

// nextKeys looks at some clients of a version after another one, in the order of their
// numbers. It returns those that match a query, the last one that was looked at, and
// whether there may be more.
func (r *Reader) nextKeys(
	db *store.Session, q Query, version string, after int64,
) (keys []clientKey, last int64, more bool) {
	from, where, args := q.sql(r.Current)
	column := "''"
	if q.hits != nil {
		column = "n.name"
	}
	statement := fmt.Sprintf("select c.client, %s, c.position, c.exempt = 1 from %s where %s "+
		"and c.version = $%d and c.client > $%d order by c.client limit %d",
		column, from, where, len(args)+1, len(args)+2, csvChunk)
	last = after
	var name string
	var position float64
	var exempt bool
	read := 0
	db.Each(statement, append(args, version, after), []any{&last, &name, &position, &exempt}, func() {
		read++
		if q.hits == nil || q.hits(lifecycle.Recorded(name, position, exempt)) {
			keys = append(keys, clientKey{version, last})
		}
	})
	return keys, last, read == csvChunk
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
