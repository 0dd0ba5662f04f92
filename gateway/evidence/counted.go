package evidence

import (
	"context"
	"database/sql"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// use is a day on which a client used a version, called with its key, or both.
type use struct {
	client, day  int64
	used, proven bool
}

// readCounted is Version.Counted. It reads a row for each client and day, about a microsecond each.
func (db *DB) readCounted(
	ctx context.Context, p period, version string, gate lifecycle.Gate, clients []*Client,
) ([]int, error) {
	facts, err := db.page().facts(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := query(ctx, db.page(), func(rows *sql.Rows) (u use, err error) {
		return u, rows.Scan(&u.client, &u.day, &u.used, &u.proven)
	}, "uses", version, p.first, p.at.Unix()/day)
	if err != nil {
		return nil, err
	}
	counting := map[int64]user{}
	for _, c := range clients {
		if u := userOf(c, gate, p.first); c.Version == version && u.counts {
			counting[u.id] = u
		}
	}
	counted := make([]int, p.at.Unix()/day-p.first+1)
	for i := range counted {
		if i < gate.Days || unix((p.first+int64(i-gate.Days))*day).Before(facts.since) {
			counted[i] = -1
		}
	}
	addCounted(counted, p.first, uses, counting, gate)
	return counted, nil
}

// addCounted adds clients to the days of which it is known how many a gate counts. A client counts
// from its first use until the gate's days after its last one. Uses are in order, by client.
func addCounted(counted []int, first int64, uses []use, counting map[int64]user, gate lifecycle.Gate) {
	var client, lastUsed, lastProven, until int64
	for _, u := range uses {
		if u.client != client {
			client = u.client
			lastUsed, lastProven, until = 0, 0, 0
		}
		by, counts := counting[u.client]
		if !counts || u.day <= by.ignored {
			continue
		}
		if u.used {
			lastUsed = u.day
		}
		if u.proven {
			lastProven = u.day
		}
		last := lastUsed
		if gate.OnlyProven() {
			last = min(lastUsed, lastProven)
		}
		for d := max(u.day, until+1); d <= last+int64(gate.Days); d++ {
			if i := d - first; i < int64(len(counted)) && counted[i] >= 0 {
				counted[i]++
			}
			until = d
		}
	}
}
