package usage

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/netip"
	"slices"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/fault"
)

const (
	hour = store.Hour // seconds
	day  = store.Day
)

// Bounds of what is counted between two writes.
const (
	maxUnverified = 16_384 // clients of old versions that the operator does not know
	maxCurrent    = 4_096  // clients of the current version that the operator does not know
	maxFindings   = 16     // of a client
	maxName       = 512    // bytes
	maxParam      = 32
)

// outcome of a call.
type outcome uint8

const (
	served outcome = iota
	brownout
	retired
	rehearsed
	failed
	outcomes
)

var outcomeNames = [outcomes]string{store.Served, store.Brownout, store.Retired, store.Rehearsed, store.Failed}

// outcomeOf is false for an answer that is not counted. What counts is a quote and
// an error of a route that quotes. Of an old version, every route counts that its
// sunset ends.
func outcomeOf(e *event.Event, old bool) (o outcome, counted bool) {
	ends := old && e.Route != "" && !e.Free
	switch {
	case e.Code == "" && (e.Pair != nil || ends && !e.Quotes):
		return served, true
	case e.Code == "" || !e.Quotes && !ends:
		return 0, false
	case e.Rehearsal:
		return rehearsed, true
	case e.Code == fault.VersionBrownout:
		return brownout, true
	case e.Code == fault.VersionRetired:
		return retired, true
	}
	return failed, true
}

// clientDay is a client of a version on a day.
type clientDay struct {
	name    string
	version int // its place among the versions
	day     int64
}

// calls are those of a client of a version on a day.
type calls struct {
	clientDay
	id                          int64 // of the client, once they are written
	by                          [outcomes]int64
	hours                       int64 // a bit for each hour with calls that were served or that a brownout refused
	first, seen                 int64 // the first and the last call of all
	last, last410, lastRehearse int64 // see quotegate_days; 0: none
	proven                      int64
	position                    float64
	exempt                      bool
	known, old                  bool // the operator knows the client; the version is an old one
	software                    string
	network                     int64     // a keyed hash; 0: unknown
	findings                    []finding // each once
}

// versionHour is an outcome of a version in an hour.
type versionHour struct {
	hour    int64
	version int
	outcome outcome
}

// total is all calls, and those that count under no client.
type total struct{ calls, unnamed int64 }

// counts are the calls since the last write.
type counts struct {
	clients             map[clientDay]*calls
	totals              map[versionHour]total
	unverified, current int // entries of clients that are not known, of old versions and of the current one
}

// newCounts allocates room for a number of clients.
func newCounts(clients int) *counts {
	return &counts{clients: make(map[clientDay]*calls, clients), totals: map[versionHour]total{}}
}

// add counts a call at a time, of an old version or of the current one.
func (c *counts) add(e *event.Event, version int, old bool, o outcome, at int64, key *store.Key) {
	in := versionHour{at - at%hour, version, o}
	sum := c.totals[in]
	sum.calls++
	one := c.clients[clientDay{e.Client, version, at / day}]
	if one == nil {
		one = c.enter(e, version, old, at, key)
	}
	if one != nil {
		one.add(e, o, at)
	} else if old {
		sum.unnamed++
	}
	c.totals[in] = sum
}

// enter begins to count a client, if there is room for it.
func (c *counts) enter(e *event.Event, version int, old bool, at int64, key *store.Key) *calls {
	known := e.Caller.Known != nil
	switch {
	case !store.Storable(e.Client, maxName):
		return nil
	case known:
	case old && c.unverified < maxUnverified:
		c.unverified++
	case !old && c.current < maxCurrent:
		c.current++
	default:
		return nil
	}
	one := &calls{
		clientDay: clientDay{e.Client, version, at / day},
		first:     at, known: known, old: old, network: networkOf(key, e.Caller.Addr),
		position: math.Floor(e.Caller.Identity().Position(e.Version)*1000) / 1000,
	}
	c.clients[one.clientDay] = one
	return one
}

func (c *calls) add(e *event.Event, o outcome, at int64) {
	c.by[o]++
	c.first = min(c.first, at)
	c.seen = max(c.seen, at)
	switch o {
	case brownout, retired:
		c.last410 = max(c.last410, at)
	case rehearsed:
		c.lastRehearse = max(c.lastRehearse, at)
	}
	if o == served || o == brownout || o == retired {
		c.last = max(c.last, at)
	}
	if o == served || o == brownout {
		c.hours |= 1 << (at % day / hour)
	}
	if e.Caller.Proven() {
		c.proven++
	}
	c.exempt = e.Exempt
	if agent := e.Caller.Agent; agent != "" && store.Storable(agent, maxName) {
		c.software = agent
	}
	if o == served && e.Finding.Outcome != "" {
		c.find(e.Finding)
	}
}

// finding is what the current version would have answered, with the number of calls.
type finding struct {
	event.Finding
	calls int64
}

// find counts a finding. Of a client with many different ones, further ones count by
// their outcome alone.
func (c *calls) find(f event.Finding) {
	is := func(known finding) bool { return known.Finding == f }
	i := slices.IndexFunc(c.findings, is)
	if i < 0 && (len(c.findings) >= maxFindings || !store.Storable(f.Param, maxParam)) {
		f = event.Finding{Outcome: f.Outcome}
		i = slices.IndexFunc(c.findings, is)
	}
	if i < 0 {
		i = len(c.findings)
		c.findings = append(c.findings, finding{Finding: f})
	}
	c.findings[i].calls++
}

// nameOf is one line: "origin https://wallet.example", "agent curl #5f1c…". The
// address prefix of an agent is hashed. "-" means that there is none.
func nameOf(key *store.Key, id caller.Identity) string {
	if id.Kind != caller.Agent {
		return id.String()
	}
	if !id.Network.IsValid() {
		return id.String()
	}
	name := make([]byte, 0, 64)
	name = append(name, id.Kind...)
	name = append(name, ' ')
	name = append(name, id.Text...)
	name = append(name, " #"...)
	var hash [8]byte
	binary.BigEndian.PutUint64(hash[:], key.Network(id.Network))
	return string(hex.AppendEncode(name, hash[:]))
}

// networkOf is the hash of the network of an address, or 0 without one.
func networkOf(key *store.Key, addr netip.Addr) int64 {
	network := caller.Caller{Addr: addr}.Network()
	if !network.IsValid() {
		return 0
	}
	return int64(key.Network(network))
}
