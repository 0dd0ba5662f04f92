package caller

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quotegate/quotegate/shared/humanize"
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
	Notified  Date      `json:"notified,omitzero"`   // when it was told to move; zero: it was not
	Moved     *Mark     `json:"moved,omitempty"`     // what the operator knows better than the counts; nil: nothing
}

// Mark says that a client has moved, though its calls do not show it. It holds for as
// long as the client does not call with its key after that day.
type Mark struct {
	On  Date   `json:"on"`
	Why string `json:"why"`
}

// Date is a day in UTC, counted from 1970; 0 is none. Operators write it as 2027-01-05.
type Date int32

// UnmarshalText reads a day. Its error does not repeat the text, which may be a key.
func (d *Date) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.DateOnly, string(text))
	if err != nil || at.Unix() <= 0 {
		return errors.New("not a day; write it like 2027-01-05")
	}
	*d = Date(at.Unix() / daySeconds)
	return nil
}

const daySeconds = 24 * 60 * 60

// Time is the begin of the day, and the zero time for none.
func (d Date) Time() time.Time {
	if d == 0 {
		return time.Time{}
	}
	return time.Unix(int64(d)*daySeconds, 0).UTC()
}

func (d Date) String() string { return d.Time().Format(time.DateOnly) }

func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Sentence says when and why. It is empty without a mark.
func (m *Mark) Sentence() string {
	if m == nil {
		return ""
	}
	return m.On.String() + ": " + m.Why
}

// Holds reports whether the client has not called with its key since the day of the mark
// was over. No mark does not hold.
func (m *Mark) Holds(lastProven time.Time) bool {
	return m != nil && lastProven.Before((m.On + 1).Time())
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
	c.watch = &jsonfile.Watch[*clientSet]{
		Path: file, Size: maxFile, What: "clients file", Parse: parseClients, Use: c.use, Log: log, Now: time.Now,
	}
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

func (c *Clients) Run(ctx context.Context) { c.watch.Run(ctx) }

// Reload reads the file if it has changed, and logs the result even if it has not.
func (c *Clients) Reload() { c.watch.Poll(true) }

// Refused reports whether the clients of an earlier file are known, because the file
// is bad or gone.
func (c *Clients) Refused() bool { return c.watch.Refused() != nil }

func (c *Clients) use(set *clientSet) error {
	before := c.current.Swap(set)
	absent := func(_, there *entry) bool { return there == nil }
	changed := func(e, was *entry) bool { return was != nil && !reflect.DeepEqual(e, was) }
	c.watch.Log.Info("known clients changed", "file", c.watch.Path, "clients", len(set.entries),
		"added", set.compare(before, absent), "removed", before.compare(set, absent),
		"changed", set.compare(before, changed))
	return nil
}

// compare lists by name the clients that differ from those of another set, as many as
// a log line can show.
func (s *clientSet) compare(other *clientSet, differ func(e, there *entry) bool) (names []string) {
	for _, e := range s.entries {
		if differ(e, other.names[e.Name]) {
			names = append(names, e.Name)
		}
	}
	const most = 50
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return names
}

func (c *Clients) set() *clientSet {
	if c == nil {
		return &clientSet{}
	}
	return c.current.Load()
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
		same := func(known keyHash) bool { return subtle.ConstantTimeCompare(hash[:], known[:]) == 1 }
		if known := s.keys[hash.id()]; known != nil && slices.ContainsFunc(known.hashes, same) {
			who.Known, who.Key = &known.Client, hash.id()
			return true
		}
	}
	if known := s.match(who); known != nil {
		who.Known = &known.Client
	}
	return !given
}

// match finds a client by what anyone can claim.
func (s *clientSet) match(c *Caller) *entry {
	if len(s.patterns) == 0 {
		return nil
	}
	for _, p := range [...]Pattern{{kind: Integrator, integrator: c.Integrator}, {kind: Origin, text: c.Origin}} {
		if known := s.patterns[p]; known != nil {
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

func (c *Clients) Find(name string) (Client, bool) {
	if known := c.set().names[name]; known != nil {
		return known.Client, true
	}
	return Client{}, false
}

// FindRecorded finds the client that a recorded name stands for: its own name, or one
// that a call had before the operator wrote down how to recognise the client. Networks
// are not recorded, so a match by network finds nothing.
func (c *Clients) FindRecorded(name string) (Client, bool) {
	s := c.set()
	kind, text, _ := strings.Cut(name, " ")
	var known *entry
	switch Kind(kind) {
	case Known:
		known = s.names[text]
	case Integrator:
		if id, err := integrator.ParseID(text); err == nil {
			known = s.patterns[Pattern{kind: Integrator, integrator: id}]
		}
	case Origin:
		known = s.patterns[Pattern{kind: Origin, text: text}]
	case Agent:
		product, _, _ := strings.Cut(text, " ")
		known = s.patterns[Pattern{kind: Agent, text: product}]
	}
	if known == nil {
		return Client{}, false
	}
	return known.Client, true
}

func (c *Clients) All() []Client {
	set := c.set()
	all := make([]Client, len(set.entries))
	for i, e := range set.entries {
		all[i] = e.Client
	}
	return all
}

type entry struct {
	Client
	hashes []keyHash
}

// clientSet finds clients. It is never changed once built, and each look-up takes
// about the same time however many clients there are.
type clientSet struct {
	entries  []*entry // in the order of the file
	names    map[string]*entry
	keys     map[KeyID]*entry
	patterns map[Pattern]*entry
	bits     []int // the lengths of the networks, longest first
}

func newClientSet() *clientSet {
	return &clientSet{names: map[string]*entry{}, keys: map[KeyID]*entry{}, patterns: map[Pattern]*entry{}}
}

// addPattern lets a pattern find a client.
func (s *clientSet) addPattern(p Pattern, e *entry) {
	s.patterns[p] = e
	if !p.IsNetwork() {
		return
	}
	bits := p.network.Bits()
	longestFirst := func(a, b int) int { return b - a }
	if i, found := slices.BinarySearchFunc(s.bits, bits, longestFirst); !found {
		s.bits = slices.Insert(s.bits, i, bits)
	}
}

// maxFile is enough for ten thousand clients with some keys and patterns each.
const maxFile = 8 << 20

// clientFile is a client as an operator writes it.
type clientFile struct {
	Name      string    `json:"name"`
	Contact   string    `json:"contact"`
	Notes     string    `json:"notes"`
	Match     []Pattern `json:"match"`
	Keys      []keyHash `json:"keys"`
	PerMinute *int      `json:"perMinute"`
	Notified  Date      `json:"notified"`
	Moved     *Mark     `json:"moved"`
}

// parseClients reads a clients file. The error lists the faults, one per line. It
// never repeats a key or the hash of one.
func parseClients(data []byte) (*clientSet, error) {
	var file struct {
		Clients []clientFile `json:"clients"`
	}
	p := clientParser{jsonfile.Decode(data, &file), newClientSet()}
	switch n := len(file.Clients); {
	case file.Clients == nil && p.Err() == nil:
		p.Add("clients", `missing; write {"clients": []} if you know none`)
	case n > maxClients:
		p.Add("clients", "there are %s, and at most %s are allowed", humanize.Number(n), humanize.Number(maxClients))
		return nil, p.Err()
	}
	for i, raw := range file.Clients {
		p.client(fmt.Sprintf("clients[%d]", i), raw)
	}
	return p.set, p.Err()
}

type clientParser struct {
	*jsonfile.Problems
	set *clientSet
}

// check reports an error, or that another client has the same already.
func (p clientParser) check(at string, err error, other *entry) (ok bool) {
	switch {
	case err != nil:
		p.Add(at, "%w", err)
	case other != nil:
		p.Add(at, "the client %s has the same", quoted(other.Name))
	}
	return err == nil && other == nil
}

func (p clientParser) client(at string, raw clientFile) {
	e := &entry{hashes: raw.Keys, Client: Client{
		Name: raw.Name, Contact: raw.Contact, Notes: raw.Notes, Match: raw.Match,
		Keys: len(raw.Keys), Notified: raw.Notified, Moved: raw.Moved,
	}}
	if e.Match == nil {
		e.Match = []Pattern{}
	}
	p.check(at+".name", CheckName(raw.Name), p.set.names[raw.Name])
	p.check(at+".contact", checkText(raw.Contact, maxContact), nil)
	p.check(at+".notes", checkText(raw.Notes, maxNotes), nil)
	if m := raw.Moved; m != nil {
		if m.On == 0 {
			p.Add(at+".moved.on", "missing; write the day like 2027-01-05")
		}
		if m.Why == "" {
			p.Add(at+".moved.why", "missing; say in a few words how you know")
		}
		p.check(at+".moved.why", checkText(m.Why, maxContact), nil)
	}
	if n := raw.PerMinute; n != nil {
		e.PerMinute = *n
		if *n < 1 || *n > MaxPerMinute {
			p.Add(at+".perMinute", "%d is not a number of requests a minute from 1 to %d", *n, MaxPerMinute)
		}
	}
	for i, pattern := range raw.Match {
		if p.check(fmt.Sprintf("%s.match[%d]", at, i), checkMatch(pattern), p.set.patterns[pattern]) {
			p.set.addPattern(pattern, e)
		}
	}
	for i, hash := range raw.Keys {
		if p.check(fmt.Sprintf("%s.keys[%d]", at, i), nil, p.set.keys[hash.id()]) {
			p.set.keys[hash.id()] = e
		}
	}
	p.set.entries = append(p.set.entries, e)
	p.set.names[e.Name] = e
}

// checkMatch says why a pattern does not tell a client apart from others.
func checkMatch(p Pattern) error {
	switch {
	case p == Pattern{}:
		return errors.New("missing")
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
// find it from its hash.
type keyHash [sha256.Size]byte

func hashOf(key string) keyHash { return sha256.Sum256([]byte(key)) }

// KeyID tells the keys of a file apart: 52 bits of the hash, and one that is always
// set. Zero means no key.
type KeyID uint64

const keyIDBits = 52

func (h *keyHash) id() KeyID {
	return 1<<keyIDBits | KeyID(binary.BigEndian.Uint64(h[:])>>(64-keyIDBits))
}

// UnmarshalText reads a hash. Its errors never repeat the text, which may be a key.
func (h *keyHash) UnmarshalText(text []byte) error {
	if isKey(string(text)) {
		return errors.New(
			"this is a key, which must not be in a file: make a new one with `gateway key new` and write its " +
				"sha256: line here")
	}
	digits, ok := bytes.CutPrefix(text, []byte(hashPrefix))
	if ok && hex.DecodedLen(len(digits)) == len(h) {
		if _, err := hex.Decode(h[:], digits); err == nil {
			return nil
		}
	}
	*h = keyHash{}
	return errors.New(
		"not the hash of a key: write sha256: and 64 hexadecimal digits, as `gateway key new` prints them")
}

// isKey reports whether a text looks like a key, which is then shown to nobody.
func isKey(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), keyPrefix) }

// Pattern matches one or more clients. An operator writes it as an integrator
// ID, a network in CIDR form, "origin:" and a web origin, "agent:" and the first
// product of a User-Agent, or "client:" and the name of a known client.
type Pattern struct {
	kind       Kind // empty for a network
	integrator integrator.ID
	network    netip.Prefix
	text       string // an origin, an agent, or the name of a client
}

// ParsePattern reads a pattern. The error says how to write one.
func ParsePattern(text string) (Pattern, error) {
	if isKey(text) {
		return Pattern{}, errors.New(
			"this is a key, which must not be in a file; the hashes of keys belong under keys in CLIENTS_FILE")
	}
	kind, rest, marked := strings.Cut(text, ":")
	p := Pattern{kind: Kind(kind)}
	switch {
	case marked && p.kind == Origin:
		p.text = canonicalOrigin(rest)
		if p.text == "" {
			return Pattern{}, fmt.Errorf(
				"%s is not a web origin: write origin:https://partner.example, without a path", quoted(text))
		}
		return p, nil
	case marked && p.kind == Agent:
		p.text = strings.ToLower(rest)
		if p.text == "" || product(p.text) != p.text {
			return Pattern{}, fmt.Errorf(
				"%s is not a kind of software: write the beginning of its User-Agent up to the version, like "+
					"agent:okhttp, at most %d characters", quoted(text), maxProduct)
		}
		return p, nil
	case marked && p.kind == Known:
		if err := CheckName(rest); err != nil {
			return Pattern{}, fmt.Errorf("the name of the client: %w", err)
		}
		p.text = rest
		return p, nil
	case strings.HasPrefix(text, "0x"):
		id, err := integrator.ParseID(text)
		if err != nil {
			return Pattern{}, fmt.Errorf(
				"%s is not an integrator ID: write a wallet address (0x and 40 hexadecimal digits, in one case "+
					"or with a valid checksum) or its 32-byte form", quoted(text))
		}
		return Pattern{kind: Integrator, integrator: id}, nil
	}
	return parseNetwork(text)
}

// parseNetwork reads a pattern that has no mark.
func parseNetwork(text string) (Pattern, error) {
	network, err := netip.ParsePrefix(text)
	addr, notAddr := netip.ParseAddr(text)
	switch {
	case notAddr == nil && addr.Zone() == "":
		return Pattern{}, fmt.Errorf("%s is an address, not a network: write %s/%d", quoted(text), addr, addr.BitLen())
	case err != nil:
		return Pattern{}, fmt.Errorf(
			"%s is none of: an integrator ID (0x…), a network (203.0.113.0/24), a web origin "+
				"(origin:https://partner.example), a kind of software (agent:okhttp), a known client (client:NAME)",
			quoted(text))
	case network.Addr().Is4In6():
		return Pattern{}, fmt.Errorf(
			"%s is an IPv4-mapped IPv6 network, which matches no client: write it as IPv4", quoted(text))
	case network != network.Masked():
		return Pattern{}, fmt.Errorf(
			"%s has bits beyond its prefix: write %s if that network is meant", quoted(text), network.Masked())
	}
	return Pattern{network: network}, nil
}

func quoted(text string) string {
	const most = 80
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

// Matches reports whether the pattern matches the caller. The caller's identity
// does not matter: an integrator's call from a matching network matches.
func (p Pattern) Matches(c Caller) bool {
	switch p.kind {
	case Integrator:
		return p.integrator == c.Integrator
	case Origin:
		return p.text == c.Origin
	case Agent:
		return p.text == c.Agent
	case Known:
		return c.Known != nil && p.text == c.Known.Name
	}
	return p.network.Contains(c.Addr)
}

// kinds begin with the least specific one.
var kinds = []Kind{Agent, Origin, Integrator, Known}

// MatchesRecorded reports whether the pattern matches a client that was recorded
// under a name, which is the text of its identity. A name says who a client is by
// its most specific mark, and nothing about the others. Where it does not tell, the
// answer is otherwise.
func (p Pattern) MatchesRecorded(name string, otherwise bool) bool {
	kind, text, _ := strings.Cut(name, " ")
	switch {
	case p.IsNetwork() || slices.Index(kinds, Kind(kind)) > slices.Index(kinds, p.kind):
		return otherwise
	case p.kind == Agent:
		return strings.HasPrefix(text, p.text+" ")
	case p.kind == Integrator:
		return name == string(p.kind)+" "+p.integrator.String()
	}
	return name == string(p.kind)+" "+p.text
}

// IsNetwork reports whether the pattern matches by address. Then it says nothing
// about a recorded client, since addresses are not recorded.
func (p Pattern) IsNetwork() bool { return p.network.IsValid() }

// Client is the name of the known client that the pattern matches, empty for a
// pattern of another kind.
func (p Pattern) Client() string {
	if p.kind != Known {
		return ""
	}
	return p.text
}

// String is the pattern in its canonical form, which ParsePattern reads back.
func (p Pattern) String() string {
	switch p.kind {
	case "":
		return p.network.String()
	case Integrator:
		return p.integrator.String()
	}
	return string(p.kind) + ":" + p.text
}

func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p *Pattern) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePattern(string(text))
	return err
}
