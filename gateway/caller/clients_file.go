package caller

import (
	"errors"
	"fmt"

	"github.com/quotegate/quotegate/shared/jsonfile"
)

// maxFile is enough for ten thousand clients with some keys and patterns each.
const maxFile = 8 << 20

// clientsFile is the file as an operator writes it.
type clientsFile struct {
	Clients []clientFile `json:"clients"`
}

type clientFile struct {
	Name      string   `json:"name"`
	Contact   string   `json:"contact"`
	Notes     string   `json:"notes"`
	Match     []string `json:"match"`
	Keys      []string `json:"keys"`
	PerMinute *int     `json:"perMinute"`
}

// parseClients reads a clients file. The error lists all faults, one per line. It
// never repeats a key or the hash of one.
func parseClients(data []byte) (*clientSet, error) {
	var file clientsFile
	shape := jsonfile.Decode(data, &file)
	p := clientParser{set: newClientSet(), places: map[any]string{}}
	switch {
	case shape != nil && len(file.Clients) == 0:
	case file.Clients == nil:
		p.fault("clients", `missing; write {"clients": []} if you know none`)
	case len(file.Clients) > maxClients:
		return nil, errors.Join(shape, fmt.Errorf("clients: there are %d, and at most %d are allowed", len(file.Clients), maxClients))
	}
	for i, raw := range file.Clients {
		p.client(fmt.Sprintf("clients[%d]", i), raw)
	}
	if err := errors.Join(shape, errors.Join(p.faults...)); err != nil {
		return nil, err
	}
	return p.set, nil
}

type clientParser struct {
	set    *clientSet
	places map[any]string // where a name, a pattern or a key was first given
	faults []error
}

func (p *clientParser) fault(at, format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
}

// check reports an error with its place.
func (p *clientParser) check(at string, err error) (ok bool) {
	if err != nil {
		p.fault(at, "%w", err)
	}
	return err == nil
}

// first reports whether a value is given for the first time in the file.
func (p *clientParser) first(at string, value any) bool {
	before, repeated := p.places[value]
	if repeated {
		p.fault(at, "the same as %s", before)
		return false
	}
	p.places[value] = at
	return true
}

func (p *clientParser) client(at string, raw clientFile) {
	e := &entry{Client: Client{Name: raw.Name, Contact: raw.Contact, Notes: raw.Notes, Match: []Pattern{}, Keys: len(raw.Keys)}}
	if p.check(at+".name", CheckName(raw.Name)) {
		p.first(at+".name", raw.Name)
	}
	p.check(at+".contact", checkText(raw.Contact, maxContact))
	p.check(at+".notes", checkText(raw.Notes, maxNotes))
	if n := raw.PerMinute; n != nil {
		if e.PerMinute = *n; *n < 1 || *n > MaxPerMinute {
			p.fault(at+".perMinute", "%d is not a number of requests a minute from 1 to %d", *n, MaxPerMinute)
		}
	}
	for i, text := range raw.Match {
		at := fmt.Sprintf("%s.match[%d]", at, i)
		pattern, err := parseMatch(text)
		if p.check(at, err) && p.first(at, pattern) {
			e.Match = append(e.Match, pattern)
			p.set.addPattern(pattern, &e.Client)
		}
	}
	for i, text := range raw.Keys {
		at := fmt.Sprintf("%s.keys[%d]", at, i)
		hash, err := parseHash(text)
		if p.check(at, err) && p.first(at, hash.id()) {
			e.hashes = append(e.hashes, hash)
			p.set.keys[hash.id()] = knownKey{hash, &e.Client}
		}
	}
	p.set.entries = append(p.set.entries, e)
	p.set.names[e.Name] = &e.Client
}

// parseMatch reads a pattern that tells a client apart from others.
func parseMatch(text string) (Pattern, error) {
	pattern, err := ParsePattern(text)
	switch {
	case err != nil:
		return Pattern{}, err
	case pattern.client != "":
		return Pattern{}, fmt.Errorf("%s names a client of this file: say how to recognise it", quoted(text))
	case pattern.network.IsValid() && pattern.network.Bits() == 0:
		return Pattern{}, fmt.Errorf("%s is every address", quoted(text))
	}
	return pattern, nil
}
