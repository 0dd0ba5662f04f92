package usage

import (
	"context"
	"database/sql"
)

// recallClients reads which clients were seen before, and how many each network has
// added today.
func (r *Recorder) recallClients(ctx context.Context) error {
	type client struct {
		name  string
		first int64
	}
	clients, err := queryAll(ctx, r.db, func(rows *sql.Rows, c *client) error { return rows.Scan(&c.name, &c.first) },
		"select name, first_seen from usage_names order by first_seen limit $1", shards*seenPerShard)
	if err != nil {
		return err
	}
	for _, c := range clients {
		r.buffer.know(c.name, c.first)
	}
	return r.recallNetworks(ctx)
}

// recallNetworks reads how many clients each network has added today, on any
// instance.
func (r *Recorder) recallNetworks(ctx context.Context) error {
	now := r.now().Unix()
	type network struct {
		hash  int64
		added int
	}
	networks, err := queryAll(ctx, r.db, func(rows *sql.Rows, n *network) error { return rows.Scan(&n.hash, &n.added) },
		"select network, count(*) from usage_names where first_seen >= $1 and network <> 0 group by network having count(*) > 1", now-now%day)
	for _, n := range networks {
		r.buffer.networks.set(n.hash, now/day, n.added)
	}
	return err
}
