package usage

import "github.com/quotegate/quotegate/gateway/caller"

// book is what is known about one version. It has no lock of its own.
type book struct {
	rings [windows]ring
	rows  rows
	aged  int64 // the day up to which ranks have been halved

	// The slots of the latest call, so that they are worked out only when
	// they change.
	from, until int64
	places      [windows]int
}

func newBook(mostRows int) *book {
	b := &book{rows: newRows(mostRows)}
	for w := range b.rings {
		b.rings[w] = newRing(w)
	}
	return b
}

// record counts a call of the client with this hash.
func (b *book) record(hash uint64, k *key, id caller.Identity, at int64) {
	at = max(at, 0)
	if at < b.from || at >= b.until {
		b.turn(at)
	}
	r, fresh := b.rows.call(hash)
	if fresh {
		r.name, r.first = k.name(id).kept(), at
	}
	r.last = max(r.last, at)
	r.day[b.places[day]]++
	r.week[b.places[week]]++
	for w := range b.rings {
		b.rings[w].slots[b.places[w]].calls++
	}
	// The slots of the longer windows consist of whole slots of the shortest:
	// a client that is in the sketch of this one is in theirs.
	if !r.known {
		r.known = true
		for w := range b.rings {
			b.rings[w].slots[b.places[w]].clients.InsertHash(hash)
		}
	}
}

const (
	secondsPerDay = 24 * 60 * minute
	// oblivion is how long a row outlives its client's last call.
	oblivion = 7 * secondsPerDay
)

// turn opens the slots of a time.
func (b *book) turn(at int64) {
	for _, r := range b.rows.heap {
		r.known = false
	}
	for w := range b.rings {
		place, fresh := b.rings[w].open(at)
		b.places[w] = place
		if fresh {
			b.rows.forget(w, place)
		}
	}
	b.from = b.rings[hour].start(at)
	b.until = b.from + hourWidth
	if today := at / secondsPerDay; today != b.aged {
		if b.aged != 0 && today > b.aged {
			b.rows.age(uint(min(today-b.aged, 64)), at-oblivion)
		}
		b.aged = today
	}
}

// merge adds what another book knows.
func (b *book) merge(other *book, now int64) {
	var taken [windows][]bool
	for w := range b.rings {
		taken[w] = b.rings[w].merge(&other.rings[w], now, func(place int) { b.rows.forget(w, place) })
	}
	for _, r := range other.rows.heap {
		row := *r
		row.keepOnly(taken)
		b.rows.add(row)
	}
}

func (b *book) clone() *book {
	c := *b
	for w := range c.rings {
		c.rings[w] = b.rings[w].clone()
	}
	c.rows = b.rows.clone()
	return &c
}
