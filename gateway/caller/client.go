package caller

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quotegate/quotegate/shared/integrator"
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

// CheckName says what is wrong with the name of a client. A name is printable
// ASCII, as every identity is.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("missing")
	case isKey(name):
		return fmt.Errorf("a name must not begin with %s, as a key does", keyPrefix)
	case len(name) > maxName, strings.Trim(name, " ") != name,
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("%s is not a name of 1 to %d printable ASCII characters without a space at either end", quoted(name), maxName)
	}
	return nil
}

// checkText says what is wrong with a text that people read.
func checkText(text string, most int) error {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > most || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("must be one line of at most %d printable characters", most)
	}
	return nil
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
	integrators  map[integrator.ID]*Client
	origins      map[string]*Client
	agents       map[string]*Client
	networks     map[netip.Prefix]*Client
	bits4, bits6 []int // the lengths of the networks, longest first
}

type knownKey struct {
	hash   keyHash
	client *Client
}

func newClientSet() *clientSet {
	return &clientSet{
		names: map[string]*Client{}, keys: map[KeyID]knownKey{}, integrators: map[integrator.ID]*Client{},
		origins: map[string]*Client{}, agents: map[string]*Client{}, networks: map[netip.Prefix]*Client{},
	}
}

// addPattern lets a pattern find a client.
func (s *clientSet) addPattern(p Pattern, c *Client) {
	switch {
	case p.integrator != integrator.ID{}:
		s.integrators[p.integrator] = c
	case p.origin != "":
		s.origins[p.origin] = c
	case p.agent != "":
		s.agents[p.agent] = c
	default:
		s.networks[p.network] = c
		lengths := &s.bits6
		if p.network.Addr().Is4() {
			lengths = &s.bits4
		}
		longestFirst := func(a, b int) int { return cmp.Compare(b, a) }
		if i, found := slices.BinarySearchFunc(*lengths, p.network.Bits(), longestFirst); !found {
			*lengths = slices.Insert(*lengths, i, p.network.Bits())
		}
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
	if len(s.integrators) > 0 && c.Integrator != (integrator.ID{}) {
		if known := s.integrators[c.Integrator]; known != nil {
			return known
		}
	}
	if len(s.origins) > 0 && c.Origin != "" {
		if known := s.origins[c.Origin]; known != nil {
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
		if known := s.networks[network]; known != nil {
			return known
		}
	}
	if len(s.agents) > 0 && c.Agent != "" {
		return s.agents[c.Agent]
	}
	return nil
}
