package caller

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quotegate/quotegate/shared/jsonfile"
)

// Client is a client that the operator knows, as the clients file has it.
type Client struct {
	Name      string    `json:"name"`
	Contact   string    `json:"contact"`
	Notes     string    `json:"notes"`
	Match     []Pattern `json:"match"` // any of these is the client
	Keys      []keyHash `json:"keys"`
	PerMinute *int      `json:"perMinute"` // see Limit
	Notified  Date      `json:"notified"`  // when it was told to move; empty: it was not
	Moved     *Mark     `json:"moved"`     // what the operator knows better than the counts; nil: nothing
}

// Limit is how many requests a minute each of the client's keys allows; 0: as many as are
// configured.
func (c *Client) Limit() int {
	if c.PerMinute == nil {
		return 0
	}
	return *c.PerMinute
}

// Mark says that a client has moved, though its calls do not show it. It holds for as
// long as the client does not call with its key after that day.
type Mark struct {
	On  Date   `json:"on"`
	Why string `json:"why"`
}

// Date is a day in UTC, such as 2027-01-05. It is empty for none.
type Date string

// UnmarshalText reads a day. Its error does not repeat the text, which may be a key.
func (d *Date) UnmarshalText(text []byte) error {
	if _, err := time.Parse(time.DateOnly, string(text)); err != nil {
		return errors.New("not a day; write it like 2027-01-05")
	}
	*d = Date(text)
	return nil
}

// Time is the begin of the day, and the zero time for none.
func (d Date) Time() time.Time {
	at, _ := time.Parse(time.DateOnly, string(d)) // fails only for none
	return at
}

// Sentence says when and why. It is empty without a mark.
func (m *Mark) Sentence() string {
	if m == nil {
		return ""
	}
	return string(m.On) + ": " + m.Why
}

// Holds reports whether the client has not called with its key since the day of the mark
// was over. No mark does not hold.
func (m *Mark) Holds(lastProven time.Time) bool {
	return m != nil && lastProven.Before(m.On.Time().AddDate(0, 0, 1))
}

const (
	maxFile    = 8 << 20 // bytes: enough for 10,000 clients with some keys and patterns each
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
	c.watch = &jsonfile.Watch[*clientSet]{
		Path: file, Size: maxFile, What: "clients file", Parse: parseClients, Use: c.use, Log: log, Now: time.Now,
	}
	set := &clientSet{}
	if file != "" {
		var err error
		if set, err = c.watch.Start(); err != nil {
			return nil, err
		}
		log.Info("known clients", "file", file, "clients", len(set.all))
	}
	c.current.Store(set)
	return c, nil
}

func (c *Clients) Run(ctx context.Context) { c.watch.Run(ctx) }

// Reload reads the file if it has changed, and logs the result even if it has not.
func (c *Clients) Reload() { c.watch.Poll(true) }

// Refused reports whether the clients of an earlier file are known, because the file
// is bad or gone.
func (c *Clients) Refused() bool { return c.watch.Refused() != nil }

func (c *Clients) use(set *clientSet) error {
	c.current.Store(set)
	c.watch.Log.Info("known clients changed", "file", c.watch.Path, "clients", len(set.all))
	return nil
}

// Recognise sets which known client a caller is, if any, and by which key. It returns
// false if the request has an API key that is not known, or not given properly; the
// caller may then still be known by another trait.
func (c *Clients) Recognise(who *Caller, h http.Header) bool {
	s := c.set()
	sent, given := h[keyHeader]
	given = given && len(s.keys) > 0
	if given && len(sent) == 1 && len(sent[0]) == keyLength {
		hash := hashOf(sent[0])
		if known := s.keys[hash]; known != nil {
			who.Known = known
			who.Key = KeyID(binary.BigEndian.Uint64(hash[:]))
			return true
		}
	}
	who.Known = s.match(who)
	return !given
}

func (c *Clients) set() *clientSet {
	if c == nil {
		return &clientSet{}
	}
	return c.current.Load()
}

func (c *Clients) Find(name string) (Client, bool) { return c.find(Pattern{kind: Known, text: name}) }

// FindRecorded finds the client that a recorded name stands for: its own name, or one
// that a call had before the operator wrote down how to recognise the client. Networks
// are not recorded, so a match by network finds nothing.
func (c *Clients) FindRecorded(name string) (Client, bool) { return c.find(recorded(name)) }

func (c *Clients) find(mark Pattern) (Client, bool) {
	if known := c.set().patterns[mark]; known != nil {
		return *known, true
	}
	return Client{}, false
}

func (c *Clients) All() []Client { return c.set().all }

// clientSet finds clients. It is never changed once built, and each look-up takes
// about the same time however many clients there are.
type clientSet struct {
	all      []Client // in the order of the file
	keys     map[keyHash]*Client
	patterns map[Pattern]*Client // also by name
	bits     []int               // the lengths of the networks, longest first
}

// match finds a client by what anyone can claim.
func (s *clientSet) match(c *Caller) *Client {
	for _, kind := range [...]Kind{Integrator, Origin} {
		if known := s.patterns[Pattern{kind: kind, text: c.mark(kind)}]; known != nil {
			return known
		}
	}
	for _, bits := range s.bits {
		network, _ := c.Addr.Prefix(bits) // not valid if the address is shorter, or there is none
		if known := s.patterns[Pattern{network: network}]; known != nil {
			return known
		}
	}
	return s.patterns[Pattern{kind: Agent, text: c.Agent}]
}

// parseClients reads a clients file. The error lists the faults, one per line. It
// never repeats a key or the hash of one.
func parseClients(data []byte) (*clientSet, error) {
	var file struct {
		Clients []Client `json:"clients"`
	}
	problems := jsonfile.Decode(data, &file)
	if file.Clients == nil && problems.Err() == nil {
		problems.Add("clients", `missing; write {"clients": []} if you know none`)
	}
	s := &clientSet{all: file.Clients, keys: map[keyHash]*Client{}, patterns: map[Pattern]*Client{}}
	for i := range s.all {
		s.add(&s.all[i], fmt.Sprintf("clients[%d]", i), problems)
	}
	return s, problems.Err()
}

// add lets a client be found, and notes what is wrong with it. With any problem, the set
// is not used.
func (s *clientSet) add(c *Client, at string, problems *jsonfile.Problems) {
	check := func(field string, err error) {
		if err != nil {
			problems.Add(at+field, "%w", err)
		}
	}
	name := Pattern{kind: Known, text: c.Name}
	check(".name", CheckName(c.Name))
	check(".name", checkFree(s.patterns[name]))
	s.patterns[name] = c
	check(".contact", checkText(c.Contact, maxContact))
	check(".notes", checkText(c.Notes, maxNotes))
	if m := c.Moved; m != nil {
		if m.On == "" {
			problems.Add(at+".moved.on", "missing; write the day like 2027-01-05")
		}
		if m.Why == "" {
			problems.Add(at+".moved.why", "missing; say in a few words how you know")
		}
		check(".moved.why", checkText(m.Why, maxContact))
	}
	if n := c.PerMinute; n != nil && (*n < 1 || *n > MaxPerMinute) {
		problems.Add(at+".perMinute", "%d is not a number of requests a minute from 1 to %d", *n, MaxPerMinute)
	}
	for i, p := range c.Match {
		field := fmt.Sprintf(".match[%d]", i)
		check(field, checkMatch(p))
		check(field, checkFree(s.patterns[p]))
		s.patterns[p] = c
		if p.IsNetwork() && !slices.Contains(s.bits, p.network.Bits()) {
			s.bits = append(s.bits, p.network.Bits())
			slices.SortFunc(s.bits, func(a, b int) int { return b - a })
		}
	}
	for i, hash := range c.Keys {
		check(fmt.Sprintf(".keys[%d]", i), checkFree(s.keys[hash]))
		s.keys[hash] = c
	}
}

// checkFree says which client has the same name, pattern or key already.
func checkFree(other *Client) error {
	if other == nil {
		return nil
	}
	return fmt.Errorf("the client %s has the same", quoted(other.Name))
}

// checkMatch says why a pattern does not tell a client apart from others.
func checkMatch(p Pattern) error {
	switch {
	case p.kind == Known:
		return fmt.Errorf("%s names a client of this file: say how to recognise it", quoted(p.String()))
	case p.IsNetwork() && p.network.Bits() == 0:
		return fmt.Errorf("%s is every address", quoted(p.String()))
	}
	return nil
}

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
		return fmt.Errorf(
			"%s is not a name of 1 to %d printable ASCII characters without a space at either end",
			quoted(name), maxName)
	}
	return nil
}

// checkText says what is wrong with a text that an operator wrote and people read. It
// is stricter than what a database takes.
func checkText(text string, most int) error {
	invisible := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > most || strings.ContainsFunc(text, invisible) {
		return fmt.Errorf("must be one line of at most %d printable characters", most)
	}
	return nil
}

const (
	keyHeader  = "Api-Key" // API-Key, as net/http stores it
	keyPrefix  = "qg_"
	keyLength  = len(keyPrefix) + 43 // 32 bytes in base64url
	hashPrefix = "sha256:"
)

// NewKey makes an API key, and the hash that a clients file keeps of it.
func NewKey() (key, hash string) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	key = keyPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	sum := hashOf(key)
	return key, hashPrefix + hex.EncodeToString(sum[:])
}

// keyHash is what is known of a key. A key is 32 random bytes, so that nobody can
// find it from its hash, nor from how long it takes to look one up.
type keyHash [sha256.Size]byte

func hashOf(key string) keyHash { return sha256.Sum256([]byte(key)) }

// KeyID tells the keys of a file apart: the beginning of the hash. Zero means no key.
type KeyID uint64

// UnmarshalText reads a hash. Its errors never repeat the text, which may be a key.
func (h *keyHash) UnmarshalText(text []byte) error {
	if isKey(string(text)) {
		return errors.New(
			"this is a key, which must not be in a file: make a new one with `gateway key new` and write its " +
				"sha256: line here")
	}
	digits, ok := strings.CutPrefix(string(text), hashPrefix)
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != len(h) {
		return errors.New(
			"not the hash of a key: write sha256: and 64 hexadecimal digits, as `gateway key new` prints them")
	}
	copy(h[:], sum)
	return nil
}

// isKey reports whether a text looks like a key, which is then shown to nobody.
func isKey(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), keyPrefix) }
