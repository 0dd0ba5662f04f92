package usage

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteCSV writes the clients of a report, one a line, with a column for each day.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	header := []string{"version", "client", "known", "contact", "notes", "software", "firstSeen", "lastSeen", "calls7", "calls30", "calls90",
		"position", "exempt", "last410", "lastRehearsal", "moved", "finding", "reasons"}
	today := Day(r.At.Unix() - r.At.Unix()%day)
	for d := range Day(reportDays) {
		header = append(header, (today - (reportDays-1-d)*day).String())
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range r.Clients {
		if err := out.Write(r.Clients[i].fields(today)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (c *Client) fields(today Day) []string {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	var reasons []string
	for _, f := range c.Findings {
		reasons = append(reasons, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", f.Outcome, f.Code, f.Param)), " "))
	}
	fields := []string{c.Version, plain(c.Client), strconv.FormatBool(c.Known), plain(c.Contact.Contact), plain(c.Notes), plain(c.Software),
		when(c.FirstSeen), when(c.LastSeen), number(c.Calls7), number(c.Calls30), number(c.Calls90),
		strconv.FormatFloat(c.Position, 'f', 6, 64), strconv.FormatBool(c.Exempt), when(c.Last410), when(c.Rehearsed), when(c.Moved),
		string(c.Finding()), plain(strings.Join(reasons, "; "))}
	days := make([]string, reportDays)
	for _, d := range c.Days {
		if i := int64(reportDays-1) - int64(today-d.Day)/day; i >= 0 && i < reportDays {
			days[i] = number(d.Calls)
		}
	}
	return append(fields, days...)
}

// plain keeps a spreadsheet from taking text that a client sent for a formula.
func plain(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
