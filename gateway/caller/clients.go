package caller

import (
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/jsonfile"
)

// Client is a client that the operator knows. It never holds a key or the hash of
// one.
type Client struct {
	Name      string    `json:"name"`
	Contact   string    `json:"contact,omitempty"`
	Notes     string    `json:"notes,omitempty"`
	Match     []Pattern `json:"match"`               // any of these is the client
	Keys      int       `json:"keys"`                // how many it has
	PerMinute int       `json:"perMinute,omitempty"` // the limit of each of its keys; 0: the configured one
}

const (
	maxClients = 10_000
	maxName    = 64
	maxContact = 200
	maxNotes   = 2000

	// MaxPerMinute is the highest limit of a key.
	MaxPerMinute = 1000
)

// Clients are the known clients: those of a file, as it was last read. While the
// file is missing or bad, the clients of the last good one stay known. A nil
// Clients knows none.
type Clients struct {
	watch   *jsonfile.Watch[*clientSet]
	current atomic.Pointer[clientSet]
}

// NewClients reads the file, if there is one. If it is bad, the error lists all its
// faults.
func NewClients(file string, log *slog.Logger) (*Clients, error) {
	c := &Clients{}
	c.watch = &jsonfile.Watch[*clientSet]{Path: file, Size: maxFile, What: "clients file", Parse: parseClients, Use: c.use, Log: log, Now: time.Now}
	set := newClientSet()
	if file != "" {
		var err error
		if set, err = c.watch.Start(); err != nil {
			return nil, err
		}
		log.Info("known clients", "file", file, "clients", len(set.entries))
	}
	c.current.Store(set)
	return c, nil
}

// Run polls every few seconds until the context ends.
func (c *Clients) Run(ctx context.Context) { c.watch.Run(ctx) }

// Poll reads the file if it has changed.
func (c *Clients) Poll() { c.watch.Poll(false) }

// Reload is Poll on demand: it logs the result even if nothing has changed.
func (c *Clients) Reload() { c.watch.Poll(true) }

// Refused reports whether the clients of an earlier file are known, because the file
// is bad or gone.
func (c *Clients) Refused() bool { return c.watch.Refused() != nil }

func (c *Clients) use(set *clientSet) error {
	added, removed, changed := set.changes(c.current.Swap(set))
	c.watch.Log.Info("known clients changed", "file", c.watch.Path, "clients", len(set.entries),
		"added", shortened(added), "removed", shortened(removed), "changed", shortened(changed))
	return nil
}

// changes lists by name what differs from the clients before.
func (s *clientSet) changes(before *clientSet) (added, removed, changed []string) {
	old := make(map[string]*entry, len(before.entries))
	for _, e := range before.entries {
		old[e.Name] = e
	}
	for _, e := range s.entries {
		switch was := old[e.Name]; {
		case was == nil:
			added = append(added, e.Name)
		case !reflect.DeepEqual(was, e):
			changed = append(changed, e.Name)
		}
	}
	for _, e := range before.entries {
		if s.names[e.Name] == nil {
			removed = append(removed, e.Name)
		}
	}
	return added, removed, changed
}

// shortened keeps a log line readable.
func shortened(names []string) []string {
	const most = 50
	if len(names) <= most {
		return names
	}
	return append(names[:most:most], fmt.Sprintf("and %d more", len(names)-most))
}

// none is the set of a nil Clients.
var none = newClientSet()

func (c *Clients) set() *clientSet {
	if c == nil {
		return none
	}
	return c.current.Load()
}

// Recognise sets which known client a caller is, if any. It returns false if the
// request has an API key that is not known, or not given properly.
func (c *Clients) Recognise(who *Caller, h http.Header) bool { return c.set().recognise(who, h) }

// Find returns the client with a name.
func (c *Clients) Find(name string) (Client, bool) {
	if known := c.set().names[name]; known != nil {
		return *known, true
	}
	return Client{}, false
}

// All returns every client, in the order of the file.
func (c *Clients) All() []Client {
	set := c.set()
	all := make([]Client, len(set.entries))
	for i, e := range set.entries {
		all[i] = e.Client
	}
	return all
}

// entry is a client with the hashes of its keys.
type entry struct {
	Client
	hashes []keyHash
}

// clientSet finds clients. It is never changed once built, and each look-up takes
// about the same time however many clients there are.
type clientSet struct {
	entries      []*entry // in the order of the file
	names        map[string]*Client
	keys         map[KeyID]knownKey
	patterns     map[Pattern]*Client
	bits4, bits6 []int // the lengths of the networks, longest first
}

type knownKey struct {
	hash   keyHash
	client *Client
}

func newClientSet() *clientSet {
	return &clientSet{names: map[string]*Client{}, keys: map[KeyID]knownKey{}, patterns: map[Pattern]*Client{}}
}

// addPattern lets a pattern find a client.
func (s *clientSet) addPattern(p Pattern, c *Client) {
	s.patterns[p] = c
	if !p.IsNetwork() {
		return
	}
	lengths := &s.bits6
	if p.network.Addr().Is4() {
		lengths = &s.bits4
	}
	longestFirst := func(a, b int) int { return cmp.Compare(b, a) }
	if i, found := slices.BinarySearchFunc(*lengths, p.network.Bits(), longestFirst); !found {
		*lengths = slices.Insert(*lengths, i, p.network.Bits())
	}
}

// recognise sets the client that a caller is, and by which key. It returns false
// for a key that is not known, or not given properly; the caller may then still be
// known by another trait.
func (s *clientSet) recognise(c *Caller, h http.Header) bool {
	sent, given := h[keyHeader]
	if !given || len(s.keys) == 0 {
		c.Known = s.match(c)
		return true
	}
	if len(sent) == 1 && len(sent[0]) == keyLength {
		hash := hashOf(sent[0])
		known := s.keys[hash.id()] // none: its hash is all zeros
		if subtle.ConstantTimeCompare(hash[:], known.hash[:]) == 1 && known.client != nil {
			c.Known, c.Key = known.client, hash.id()
			return true
		}
	}
	c.Known = s.match(c)
	return false
}

// match finds a client by what anyone can claim.
func (s *clientSet) match(c *Caller) *Client {
	if len(s.patterns) == 0 {
		return nil
	}
	if c.Integrator != (integrator.ID{}) {
		if known := s.patterns[Pattern{integrator: c.Integrator}]; known != nil {
			return known
		}
	}
	if c.Origin != "" {
		if known := s.patterns[Pattern{origin: c.Origin}]; known != nil {
			return known
		}
	}
	lengths := s.bits6
	if c.Addr.Is4() {
		lengths = s.bits4
	}
	for _, bits := range lengths {
		network, err := c.Addr.Prefix(bits)
		if err != nil { // there is no address
			break
		}
		if known := s.patterns[Pattern{network: network}]; known != nil {
			return known
		}
	}
	if c.Agent == "" {
		return nil
	}
	return s.patterns[Pattern{agent: c.Agent}]
}
