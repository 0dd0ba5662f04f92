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

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/humanize"
)

// csvChunk is of how many clients the days are read at a time.
const csvChunk = 10_000

// WriteCSV writes the clients that match a query, one a line, with a column for each
// day, version by version. An error before the first line leaves out untouched.
func (r *Reader) WriteCSV(ctx context.Context, q Query, out io.Writer) error {
	var found []*usage
	var at time.Time
	err := r.inTurn(ctx, func(db *store.Session, now time.Time) error {
		read, err := r.read(db, now)
		if err != nil {
			return err
		}
		at = now
		r.countedBy(db, &q, at)
		found = slices.Collect(read.matching(&q, r))
		return db.Err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b *usage) int {
		return cmp.Or(cmp.Compare(a.version, b.version), cmp.Compare(a.id, b.id))
	})
	today := Day(at.Unix() / day * day)
	w := csv.NewWriter(out)
	if err := w.Write(csvHeader(today)); err != nil {
		return err
	}
	db := r.DB.AskPages(ctx)
	written := 0
	for some := range slices.Chunk(found, csvChunk) {
		clients := r.load(db, some, at)
		if db.Err != nil {
			return fmt.Errorf("after %s: %w", humanize.Count(written, "client", "clients"), db.Err)
		}
		for i := range clients {
			if err := w.Write(clients[i].fields(today)); err != nil {
				return err
			}
		}
		written += len(clients)
	}
	w.Flush()
	return w.Error()
}

func csvHeader(today Day) []string {
	header := []string{
		"version", "client", "known", "contact", "notes", "software", "firstSeen", "lastSeen",
		"calls7", "calls30", "calls90", "proven", "claimed", "position", "exempt", "last410", "lastRehearsal",
		"moved", "markedMoved", "notified", "finding", "reasons", "found",
	}
	for d := range Day(store.ReportDays + 1) {
		header = append(header, (today - (store.ReportDays-d)*day).String())
	}
	return header
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
		when(c.Moved), plain(c.Marked.Sentence()), in(time.DateOnly, c.Notified),
		string(c.Finding()), plain(strings.Join(reasons, "; ")), in(time.DateOnly, c.Found),
	}
	days := make([]string, store.ReportDays+1)
	for _, d := range c.Days {
		days[store.ReportDays-int64(today-d.Day)/day] = number(d.Calls)
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
