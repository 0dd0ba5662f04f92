package usage

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/axiomhq/hyperloglog"

	"github.com/quotegate/quotegate/gateway/caller"
)

// state is what an instance leaves behind, in a file and in Redis.
type state struct {
	instance    string // the name under which it was last shared
	key         *key   // nil where the key is kept elsewhere
	fingerprint string // of the key that hashed it
	since       int64  // when counting began
	at          int64  // when this was written
	books       map[string]*book
}

const (
	format = "quotegate usage 1"

	// maxPacked bounds what is read, and maxPlain what becomes of it. A state
	// of three versions with every sketch full and every row taken is below
	// half of both.
	maxPacked = 4 << 20
	maxPlain  = 16 << 20

	// maxCalls is more than any slot can have, and few enough to add up.
	maxCalls = 1 << 48
)

// The same in JSON. Slots and counts are in the order of their places.
type (
	stateJSON struct {
		Format      string               `json:"format"`
		Instance    string               `json:"instance"`
		Key         string               `json:"key,omitempty"`
		Fingerprint string               `json:"fingerprint"`
		Since       int64                `json:"since"`
		At          int64                `json:"at"`
		Versions    map[string]*bookJSON `json:"versions"`
	}
	bookJSON struct {
		Aged int64      `json:"aged"`
		Hour []slotJSON `json:"hour"`
		Day  []slotJSON `json:"day"`
		Week []slotJSON `json:"week"`
		Rows []rowJSON  `json:"rows"`
	}
	slotJSON struct {
		Start   int64  `json:"start,omitempty"`
		Calls   uint64 `json:"calls,omitempty"`
		Clients []byte `json:"clients,omitempty"` // a sketch; none: the slot is empty
	}
	rowJSON struct {
		Hash    uint64      `json:"hash"`
		Kind    caller.Kind `json:"kind"`
		Text    string      `json:"text"`
		Network uint64      `json:"network,omitempty"`
		First   int64       `json:"first"`
		Last    int64       `json:"last"`
		Rank    uint64      `json:"rank"`
		Day     []uint64    `json:"day"`
		Week    []uint64    `json:"week"`
	}
)

// encode writes the state as compressed JSON, which detects damage and which
// `zcat | jq` shows to people.
func (s *state) encode() ([]byte, error) {
	j := stateJSON{Format: format, Instance: s.instance, Fingerprint: s.fingerprint, Since: s.since, At: s.at, Versions: map[string]*bookJSON{}}
	if s.key != nil {
		j.Key = s.key.String()
	}
	for version, b := range s.books {
		encoded, err := b.encode()
		if err != nil {
			return nil, err
		}
		j.Versions[version] = encoded
	}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(json.NewEncoder(zip).Encode(j), zip.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func (b *book) encode() (*bookJSON, error) {
	j := &bookJSON{Aged: b.aged, Rows: make([]rowJSON, 0, len(b.rows.heap))}
	for w, slots := range []*[]slotJSON{&j.Hour, &j.Day, &j.Week} {
		for _, s := range b.rings[w].slots {
			encoded := slotJSON{Start: s.start, Calls: s.calls}
			if s.clients != nil {
				var err error
				if encoded.Clients, err = s.clients.MarshalBinary(); err != nil {
					return nil, err
				}
			}
			*slots = append(*slots, encoded)
		}
	}
	for _, r := range b.rows.heap {
		j.Rows = append(j.Rows, rowJSON{
			Hash: r.hash, Kind: r.name.kind, Text: r.name.text, Network: r.name.network,
			First: r.first, Last: r.last, Rank: r.rank, Day: r.day[:], Week: r.week[:],
		})
	}
	return j, nil
}

// decode reads a state and believes none of it unseen. Rows are hashed under
// our key where their names are known. Versions we do not serve are left out.
func decode(packed []byte, versions []string, k key) (*state, error) {
	if len(packed) > maxPacked {
		return nil, fmt.Errorf("it is larger than %d bytes", maxPacked)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(zip, maxPlain+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > maxPlain {
		return nil, fmt.Errorf("it unpacks to more than %d bytes", maxPlain)
	}
	var j stateJSON
	if err := json.Unmarshal(plain, &j); err != nil {
		return nil, err
	}
	if j.Format != format {
		return nil, fmt.Errorf("its format is %.40q, want %q", j.Format, format)
	}
	s := &state{instance: j.Instance, fingerprint: j.Fingerprint, since: j.Since, at: j.At, books: map[string]*book{}}
	if j.Key != "" {
		own, err := parseKey(j.Key)
		if err != nil {
			return nil, err
		}
		s.key, k = &own, own
	}
	for _, version := range versions {
		encoded := j.Versions[version]
		if encoded == nil {
			continue
		}
		if s.books[version], err = encoded.decode(k); err != nil {
			return nil, fmt.Errorf("version %s: %w", version, err)
		}
	}
	return s, nil
}

func (j *bookJSON) decode(k key) (*book, error) {
	b := newBook(maxRows)
	b.aged = j.Aged
	for w, slots := range [][]slotJSON{j.Hour, j.Day, j.Week} {
		ring := &b.rings[w]
		if len(slots) != len(ring.slots) {
			return nil, fmt.Errorf("a window has %d slots, want %d", len(slots), len(ring.slots))
		}
		for i, s := range slots {
			if s.Clients == nil {
				continue
			}
			if s.Start < 0 || ring.start(s.Start) != s.Start || ring.place(s.Start) != i {
				return nil, fmt.Errorf("a slot begins at %d, which is not its place", s.Start)
			}
			if s.Calls > maxCalls {
				return nil, fmt.Errorf("a slot has %d calls", s.Calls)
			}
			sketch, err := decodeSketch(s.Clients)
			if err != nil {
				return nil, err
			}
			ring.slots[i] = slot{start: s.Start, calls: s.Calls, clients: sketch}
		}
	}
	if len(j.Rows) > maxRows {
		return nil, fmt.Errorf("it has %d rows, want at most %d", len(j.Rows), maxRows)
	}
	for i := range j.Rows {
		r, err := j.Rows[i].decode(k)
		if err != nil {
			return nil, err
		}
		b.rows.add(r)
	}
	return b, nil
}

func (j *rowJSON) decode(k key) (row, error) {
	r := row{hash: j.Hash, name: name{j.Kind, j.Text, j.Network}, first: j.First, last: j.Last, rank: j.Rank}
	if !r.name.valid() || len(j.Day) != daySlots || len(j.Week) != weekSlots || max(slices.Max(j.Day), slices.Max(j.Week), j.Rank) > maxCalls {
		return row{}, errors.New("a row is not one we write")
	}
	copy(r.day[:], j.Day)
	copy(r.week[:], j.Week)
	if r.name.clear() {
		r.hash = k.hash(string(j.Kind), j.Text)
	}
	return r, nil
}

// decodeSketch merges what it reads into a sketch of ours, which holds it to
// our precision and size.
func decodeSketch(data []byte) (*hyperloglog.Sketch, error) {
	var read hyperloglog.Sketch
	if err := read.UnmarshalBinary(data); err != nil {
		return nil, err
	}
	sketch := newSketch()
	if err := sketch.Merge(&read); err != nil {
		return nil, err
	}
	return sketch, nil
}
