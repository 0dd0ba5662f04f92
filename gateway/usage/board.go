package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/words"
)

// Board is where instances leave word for one another while they cannot write to the
// database. Redis is one, where there is a Redis.
type Board interface {
	Put(ctx context.Context, name, line string) error
	Remove(ctx context.Context, name string) error
	All(ctx context.Context) (map[string]string, error)
}

const (
	boardTimeout = time.Second
	silentAfter  = 12 * writeInterval // an instance that has left no word for so long has ended
)

// notice is the word of an instance whose counts are nowhere but in its memory.
type notice struct {
	Host  string `json:"host"`
	Since int64  `json:"since"` // its calls since then are not written
	Heard int64  `json:"heard"` // when it said so
}

// leaveWord tells the others that counts of this instance are not written, and takes
// that back once they are. Without a board, or if it cannot be reached, nobody is told.
func (r *Recorder) leaveWord(ctx context.Context) {
	if r.board == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, boardTimeout)
	defer cancel()
	failing := r.failing.Load()
	if failing == nil && r.written.Load() {
		if r.posted {
			err := r.board.Remove(ctx, r.Writer.Instance)
			r.posted = err != nil
		}
		return
	}
	n := notice{Host: r.host, Since: r.Writer.Started.Unix(), Heard: r.Now().Unix()}
	if failing != nil && r.written.Load() {
		n.Since = failing.since.Unix() - int64(time.Duration(r.every.Load())/time.Second) // the last write before
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = r.board.Put(ctx, r.Writer.Instance, string(text))
	}
	r.posted = r.posted || err == nil
}

// readBoard finds out which other instances cannot write. One that has left no word for
// a while has ended, and what it could not write is a gap.
func (r *Recorder) readBoard(ctx context.Context, at time.Time) error {
	if r.board == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, boardTimeout)
	lines, err := r.board.All(limited)
	cancel()
	if err != nil {
		return nil // what was known stays
	}
	var unwritten []string
	for _, instance := range slices.Sorted(maps.Keys(lines)) {
		var n notice
		if instance == r.Writer.Instance || json.Unmarshal([]byte(lines[instance]), &n) != nil {
			continue
		}
		if at.Unix()-n.Heard <= int64(silentAfter/time.Second) {
			name, since := evidence.InstanceName(instance, n.Host), words.Stamp(time.Unix(n.Since, 0))
			unwritten = append(unwritten, fmt.Sprintf("%s cannot write its counts since %s", name, since))
			continue
		}
		if err := r.DB.Transact(ctx, func(tx *store.Session) { recordUnwritten(tx, instance, n) }); err != nil {
			return err
		}
		_ = r.board.Remove(ctx, instance) // else it is found again
	}
	r.unwritten.Store(&unwritten)
	return nil
}

// recordUnwritten records a gap, unless the instance has written after all, or its gap
// is known.
func recordUnwritten(tx *store.Session, instance string, n notice) {
	tx.Exec(`insert into usage_gaps (instance, began, ended, reason) 
		select cast($1 as text), cast($2 as bigint), cast($3 as bigint), cast($4 as text)
		where not exists (select 1 from usage_instances where instance = $1 and complete >= $3)
		and not exists (select 1 from usage_gaps where instance = $1 and reason = $4)`,
		instance, n.Since, n.Heard, killed)
}
