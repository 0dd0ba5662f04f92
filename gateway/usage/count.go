package usage

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/fault"
)

// Bounds of what is counted between two writes.
const (
	maxUnverified = 16_384 // clients of old versions that the operator does not know
	maxCurrent    = 4_096  // clients of the current version that the operator does not know
	maxFindings   = 16     // of a client
	maxName       = 512    // bytes
	maxParam      = 32
)

const (
	hour = 3600 // seconds
	day  = 24 * hour
)

// Outcome of a call.
type Outcome uint8

const (
	Served    Outcome = iota
	Brownout          // refused by a brownout
	Retired           // refused because the version is retired
	Rehearsed         // refused because the client asked for a rehearsal
	Failed            // any other error
	outcomes
)

var outcomeNames = [outcomes]string{"served", "brownout", "retired", "rehearsed", "failed"}

func (o Outcome) String() string { return outcomeNames[o] }

// outcomeOf is false for an answer that is not counted. What counts is a quote and
// an error of a route that quotes. Of an old version, every route counts that its
// sunset ends.
func outcomeOf(e *event.Event, old bool) (o Outcome, counted bool) {
	ends := old && e.Route != "" && !e.Free
	switch {
	case e.Code == "" && (e.Pair != nil || ends && !e.Quotes):
		return Served, true
	case e.Code == "" || !e.Quotes && !ends:
		return 0, false
	case e.Rehearsal:
		return Rehearsed, true
	case e.Code == fault.VersionBrownout:
		return Brownout, true
	case e.Code == fault.VersionRetired:
		return Retired, true
	}
	return Failed, true
}

// Calls are those of a client of a version on a day. Times are Unix seconds by the
// database's clock, and days Unix days, all in UTC.
type Calls struct {
	Client        string // its name
	Version       string
	Day           int64
	By            [outcomes]int64
	Hours         int64 // a bit for each hour with calls that were served or that a brownout refused
	First, Seen   int64 // the first and the last call of all
	Last          int64 // the last that was served, or refused by a brownout or the sunset; 0: none
	Last410       int64 // the last that was refused by a brownout or the sunset; 0: none
	LastRehearsal int64 // 0: none
	Proven        int64 // with a key
	Position      float64
	Exempt        bool
	Known, Old    bool // the operator knows the client; the version is an old one
	Software      string
	Network       int64                   // a keyed hash; 0: unknown
	Findings      map[event.Finding]int64 // calls by what the current version makes of them
}

// clientDay is a client of a version on a day.
type clientDay struct {
	client  string
	version int // its place among the versions
	day     int64
}

// Hour is an outcome of a version in an hour, which begins at a time.
type Hour struct {
	Version string
	Begin   int64
	Outcome Outcome
}

// Total is all calls, and those that count under no client.
type Total struct{ Calls, Unnamed int64 }

// counts are the calls since the last write.
type counts struct {
	clients             map[clientDay]*Calls
	totals              map[Hour]Total
	unverified, current int // entries of clients that are not known, of old versions and of the current one
}

// newCounts allocates room for a number of clients.
func newCounts(clients int) *counts {
	return &counts{clients: make(map[clientDay]*Calls, clients), totals: map[Hour]Total{}}
}

// add counts a call at a time, of an old version or of the current one.
func (c *counts) add(e *event.Event, version int, old bool, o Outcome, at int64, key *Key) {
	in := Hour{e.Version, at - at%hour, o}
	sum := c.totals[in]
	sum.Calls++
	client := clientDay{e.Client, version, at / day}
	one := c.clients[client]
	if one == nil && c.hasRoom(e, old) {
		one = newCalls(e, old, at, key)
		c.clients[client] = one
	}
	if one != nil {
		one.add(e, o, at)
	} else if old {
		sum.Unnamed++
	}
	c.totals[in] = sum
}

// hasRoom reports whether one more client may be counted, and takes its place.
func (c *counts) hasRoom(e *event.Event, old bool) bool {
	switch {
	case !Storable(e.Client, maxName):
		return false
	case e.Caller.Known != nil:
	case old && c.unverified < maxUnverified:
		c.unverified++
	case !old && c.current < maxCurrent:
		c.current++
	default:
		return false
	}
	return true
}

func newCalls(e *event.Event, old bool, at int64, key *Key) *Calls {
	return &Calls{
		Client: e.Client, Version: e.Version, Day: at / day, First: at, Known: e.Caller.Known != nil, Old: old,
		Network:  networkOf(key, e.Caller.Addr),
		Position: math.Floor(e.Caller.Identity().Position(e.Version)*1000) / 1000,
	}
}

func (c *Calls) add(e *event.Event, o Outcome, at int64) {
	c.By[o]++
	c.First = min(c.First, at)
	c.Seen = max(c.Seen, at)
	switch o {
	case Brownout, Retired:
		c.Last410 = max(c.Last410, at)
	case Rehearsed:
		c.LastRehearsal = max(c.LastRehearsal, at)
	}
	if o == Served || o == Brownout || o == Retired {
		c.Last = max(c.Last, at)
	}
	if o == Served || o == Brownout {
		c.Hours |= 1 << (at % day / hour)
	}
	if e.Caller.Proven() {
		c.Proven++
	}
	c.Exempt = e.Exempt
	if agent := e.Caller.Agent; agent != "" && Storable(agent, maxName) {
		c.Software = agent
	}
	if o == Served && e.Finding.Outcome != "" {
		c.find(e.Finding)
	}
}

// find counts a finding. Of a client with many different ones, further ones count by
// their outcome alone.
func (c *Calls) find(f event.Finding) {
	if c.Findings[f] == 0 && (len(c.Findings) >= maxFindings || !Storable(f.Param, maxParam)) {
		f = event.Finding{Outcome: f.Outcome}
	}
	if c.Findings == nil {
		c.Findings = map[event.Finding]int64{}
	}
	c.Findings[f]++
}

// Storable reports whether every database takes a text, and it has at most so many bytes.
func Storable(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
}

// nameOf is one line: "origin https://wallet.example", "agent curl #5f1c…". The
// address prefix of an agent is hashed. "-" means that there is none.
func nameOf(key *Key, id caller.Identity) string {
	if id.Kind != caller.Agent || !id.Network.IsValid() {
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
func networkOf(key *Key, addr netip.Addr) int64 {
	network := caller.Caller{Addr: addr}.Network()
	if !network.IsValid() {
		return 0
	}
	return int64(key.Network(network))
}
