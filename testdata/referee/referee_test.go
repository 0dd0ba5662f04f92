package referee

import (
	"bytes"
	"encoding/json"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/railgun"
)

func newReferee(t *testing.T) *Referee {
	t.Helper()
	r, err := New("../..")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAgreesWithTheGoldens works out the answer to every pair of every version
// that has goldens, and finds the one that was written down.
func TestAgreesWithTheGoldens(t *testing.T) {
	r := newReferee(t)
	checked := map[string]int{}
	for _, version := range Versions {
		files, err := filepath.Glob("../" + version + "/pair-*.http")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			s, want := readGolden(t, r, file)
			got, err := r.Body(version, s, Terms{IssuerBPS: r.BuiltInBPS(s.Src)}, Note())
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if s.Shields() {
				from, to := NoteIn(got)
				got = []byte(string(got[:from]) + "(note)" + string(got[to:]))
			}
			if !bytes.Equal(bytes.TrimSpace(got), want) {
				t.Errorf("%s\ngot  %s\nwant %s", file, got, want)
			}
			checked[version]++
		}
	}
	if got, want := checked["v3"], len(r.Pairs()); got != want {
		t.Errorf("v3 has goldens for %d pairs, the referee knows %d", got, want)
	}
}

func readGolden(t *testing.T, r *Referee, file string) (*Swap, []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	request, answer, _ := strings.Cut(string(data), "\n\n")
	_, query, _ := strings.Cut(strings.TrimPrefix(request, "GET "), "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	id := func(name string) uint64 {
		n, err := strconv.ParseUint(q.Get(name), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	p, err := r.Find(q.Get("srcToken"), id("srcChain"), q.Get("dstToken"), id("dstChain"))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	amount, _ := new(big.Int).SetString(q.Get("amount"), 10)
	_, body, _ := strings.Cut(answer, "\n\n")
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(body)); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return &Swap{Pair: p, Amount: amount, Recipient: q.Get("recipient")}, compact.Bytes()
}

// TestNoticesEveryChange alters a right answer in every digit and letter.
func TestNoticesEveryChange(t *testing.T) {
	r := newReferee(t)
	pair, err := r.Find("USDC", 59144, "USDC", 369)
	if err != nil {
		t.Fatal(err)
	}
	s := &Swap{pair, big.NewInt(123456789), "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"}
	rates := []*big.Rat{big.NewRat(99, 10), r.BuiltInBPS(59144)}
	body, err := r.Body("v3", s, Terms{25, rates[1]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check("v3", s, 25, rates, body); err != nil {
		t.Fatalf("a right answer is refused: %v", err)
	}
	for i := range body {
		wrong := bytes.Clone(body)
		wrong[i] ^= 1
		if r.Check("v3", s, 25, rates, wrong) == nil {
			t.Errorf("byte %d may be %q instead of %q", i, wrong[i], body[i])
		}
	}
	if r.Check("v3", s, 26, rates, body) == nil {
		t.Error("another integrator fee passes")
	}
	if r.Check("v3", s, 25, rates[:1], body) == nil {
		t.Error("another issuer fee passes")
	}
}

// TestOpensNotes makes a shield answer with a real note, and then one whose
// owner could not spend it.
func TestOpensNotes(t *testing.T) {
	r := newReferee(t)
	pair, err := r.Find("USDC", 369, "USDC", onMain)
	if err != nil {
		t.Fatal(err)
	}
	wallets := r.walletsOn(1)
	s := &Swap{Pair: pair, Amount: big.NewInt(100_000_000), Recipient: wallets[0]}
	owner, err := railgun.ParseAddress(wallets[0])
	if err != nil {
		t.Fatal(err)
	}
	note, err := railgun.NewNote(owner)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(recipient []byte) []byte {
		body, err := r.Body("v3", s, Terms{}, recipient)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	if err := r.Check("v3", s, 0, nil, answer(note.Recipient())); err != nil {
		t.Errorf("a right note is refused: %v", err)
	}
	spoilt := note.Recipient()
	spoilt[0] ^= 1 // of the npk
	if r.Check("v3", s, 0, nil, answer(spoilt)) == nil {
		t.Error("a note that cannot be spent passes")
	}
	if r.Check("v3", s, 0, nil, answer(Note())) == nil {
		t.Error("a note that says nothing passes")
	}
	stranger := *s
	stranger.Recipient = wallets[1]
	if r.Check("v3", &stranger, 0, nil, answer(note.Recipient())) == nil {
		t.Error("a note for somebody else passes")
	}
	if from, to := NoteIn(answer(Note())); to-from != 320 || common.FromHex(string(answer(Note())[from:to])) == nil {
		t.Errorf("the note is found at %d to %d", from, to)
	}
}
