package usage

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
)

// Client is what one client did on one version within 90 days. Calls are those that
// were served, or refused by a brownout or because the version is retired.
type Client struct {
	Version   string         `json:"version"`
	Client    string         `json:"client"` // as Name gives it
	Known     bool           `json:"known"`  // to the operator, by CLIENTS_FILE
	Contact                  // of a known client
	Software  string         `json:"software,omitempty"` // the product of its last User-Agent
	FirstSeen time.Time      `json:"firstSeen"`
	LastSeen  time.Time      `json:"lastSeen"`
	Calls7    uint64         `json:"calls7"` // of the last 7 days, today included
	Calls30   uint64         `json:"calls30"`
	Calls90   uint64         `json:"calls90"`
	Days      []DayCount     `json:"days"`                   // days with calls, in order
	Findings  []FindingCount `json:"findings"`               // of the last day with any, the most frequent first
	Position  float64        `json:"position"`               // a brownout refuses it if this is less than the share; -1: unknown
	Exempt    bool           `json:"exempt"`                 // the plan spared it in brownouts when it last called
	Last410   time.Time      `json:"last410,omitzero"`       // the last time it was refused
	Rehearsed time.Time      `json:"lastRehearsal,omitzero"` // the last time it rehearsed a later stage
	Moved     time.Time      `json:"moved,omitzero"`         // since its last call here it was served by the current version, last at this time
}

// FindingCount is a finding and how many calls have it.
type FindingCount struct {
	Outcome event.Outcome `json:"outcome"`
	Code    fault.Code    `json:"code,omitempty"`
	Param   string        `json:"param,omitempty"`
	Calls   uint64        `json:"calls"`
}

// Finding is the worst of a client's findings: refused, different, same, or empty.
func (c *Client) Finding() event.Outcome {
	for _, worst := range []event.Outcome{event.Refused, event.DifferentMoney, event.SameMoney} {
		if slices.ContainsFunc(c.Findings, func(f FindingCount) bool { return f.Outcome == worst }) {
			return worst
		}
	}
	return ""
}

// Name is the client's name without the kind of its identity, if it is known.
func (c *Client) Name() string { return strings.TrimPrefix(c.Client, string(caller.Known)+" ") }

// clients reads all clients of the last 90 days.
func (r *Reader) clients(ctx context.Context, now time.Time, activities map[versionClient]activity) ([]Client, error) {
	type seen struct {
		versionClient
		outcome, name, software string
		first, last, exempt     int64
		position                float64
	}
	rows, err := queryAll(ctx, r.db, func(rows *sql.Rows, s *seen) error {
		return rows.Scan(&s.version, &s.client, &s.outcome, &s.first, &s.last, &s.position, &s.exempt, &s.name, &s.software)
	}, `select c.version, c.client, c.outcome, c.first_seen, c.last_seen, c.position, c.exempt, n.name, n.software
		from usage_clients as c join usage_names as n on n.id = c.client where c.last_seen >= $1 order by c.version, c.client, c.last_seen`, windowStart(now, reportDays*24*time.Hour))
	if err != nil {
		return nil, err
	}
	var all []Client
	moved := map[int64]time.Time{} // clients that the current version served
	var ids []int64
	for _, s := range rows {
		if s.version == r.current && s.outcome == served {
			moved[s.client] = time.Unix(s.last, 0).UTC()
		}
		last := time.Unix(s.last, 0).UTC()
		if n := len(ids); n == 0 || ids[n-1] != s.client || all[n-1].Version != s.version {
			c := Client{Version: s.version, Client: s.name, Known: known(s.name), Software: s.software, FirstSeen: time.Unix(s.first, 0).UTC(), Findings: []FindingCount{}, Days: []DayCount{}}
			if c.Known {
				c.Contact, _ = r.contacts(c.Name())
			}
			c.count(now, activities[s.versionClient])
			all, ids = append(all, c), append(ids, s.client)
		}
		c := &all[len(all)-1]
		c.FirstSeen = earlier(c.FirstSeen, time.Unix(s.first, 0).UTC())
		c.LastSeen, c.Position, c.Exempt = last, s.position, s.exempt == 1
		switch s.outcome {
		case brownout, retired:
			c.Last410 = last
		case rehearsed:
			c.Rehearsed = last
		}
	}
	for i := range all {
		if c := &all[i]; c.Version != r.current && moved[ids[i]].After(c.LastSeen) {
			c.Moved = moved[ids[i]]
		}
	}
	return all, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// count adds up the days of a client.
func (c *Client) count(now time.Time, a activity) {
	today := now.Unix() - now.Unix()%day
	c.Days = append(c.Days, a.days...)
	for _, d := range a.days {
		c.Calls90 += d.Calls
		if int64(d.Day) > today-30*day {
			c.Calls30 += d.Calls
		}
		if int64(d.Day) > today-7*day {
			c.Calls7 += d.Calls
		}
	}
	c.Findings = append(c.Findings, a.findings...)
	slices.SortStableFunc(c.Findings, func(a, b FindingCount) int { return cmp.Compare(b.Calls, a.Calls) })
}
