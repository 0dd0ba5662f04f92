package referee

import (
	"bytes"
	"math/big"
	"net/url"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/railgun"
)

const account = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

func newReferee(t *testing.T) *Referee {
	t.Helper()
	r, err := New("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReadSwap reads requests in every way that versions understand them.
func TestReadSwap(t *testing.T) {
	const (
		usdc   = "srcToken=USDC&dstToken=USDC&srcChain=1&dstChain=369"
		eth    = "dstToken=weth&srcChain=1&dstChain=369&amount=7&recipient=" + account
		wallet = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
	)
	r := newReferee(t)
	for name, tt := range map[string]struct {
		version, query                      string
		pair, amount, recipient, integrator string
	}{
		"symbols":          {"v3", usdc + "&amount=007&recipient=" + account, "USDC on 1 to USDC on 369", "7", account, ""},
		"addresses":        {"v3", "srcToken=0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48&dstToken=0x15d38573d2feeb82e7ad5187ab8c1d52810b1f07&srcChain=1&dstChain=369&amount=7&recipient=" + account, "USDC on 1 to USDC on 369", "7", account, ""},
		"coin by symbol":   {"v3", "srcToken=eth&" + eth, "ETH on 1 to WETH on 369", "7", account, ""},
		"coin by address":  {"v3", "srcToken=0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee&" + eth, "ETH on 1 to WETH on 369", "7", account, ""},
		"coin by zero":     {"v3", "srcToken=0x0000000000000000000000000000000000000000&" + eth, "ETH on 1 to WETH on 369", "7", account, ""},
		"no recipient":     {"v1", usdc + "&amount=7", "USDC on 1 to USDC on 369", "7", "0x0000000000000000000000000000000000000000", ""},
		"integrator":       {"v3", usdc + "&amount=7&recipient=" + account + "&integratorId=" + wallet, "USDC on 1 to USDC on 369", "7", account, wallet},
		"integrator by ID": {"v3", usdc + "&amount=7&recipient=" + account + "&integratorId=0x000000000000000000000000fb6916095ca1df60bb79ce92ce3ea74c37c5d359", "USDC on 1 to USDC on 369", "7", account, wallet},
		"no integrators":   {"v3legacy", usdc + "&amount=7&recipient=" + account + "&integratorId=" + wallet, "USDC on 1 to USDC on 369", "7", account, ""},
	} {
		t.Run(name, func(t *testing.T) {
			query, err := url.ParseQuery(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			s, err := r.ReadSwap(tt.version, query)
			if err != nil {
				t.Fatal(err)
			}
			if s.Pair.String() != tt.pair || s.Amount.String() != tt.amount || s.Recipient != tt.recipient || s.Integrator != tt.integrator {
				t.Errorf("got %s of %s to %s for %q", s.Amount, s.Pair, s.Recipient, s.Integrator)
			}
		})
	}
	for _, query := range []string{usdc, "srcToken=USDC&dstToken=USDC&srcChain=1&dstChain=10&amount=7"} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := r.ReadSwap("v3", q); err == nil {
			t.Errorf("%s is read as %+v", query, s)
		}
	}
}

// TestDivide divides amounts that do not come out even.
func TestDivide(t *testing.T) {
	for _, tt := range []struct {
		amount                           string
		src, dst                         uint8
		protocolBPS, integratorBPS       int64
		gross, protocol, integrator, net string
	}{
		{"100000000", 6, 6, 30, 25, "100000000", "300000", "250000", "99450000"},
		{"10000000999999999999", 18, 6, 30, 0, "10000000", "30000", "0", "9970000"},
		{"10000001", 6, 18, 50, 0, "10000001000000000000", "50000005000000000", "0", "9950000995000000000"},
		{"399", 6, 6, 50, 26, "399", "1", "1", "397"},
	} {
		amount, _ := new(big.Int).SetString(tt.amount, 10)
		s := Divide(amount, tt.src, tt.dst, tt.protocolBPS, tt.integratorBPS)
		if s.Gross.String() != tt.gross || s.Protocol.String() != tt.protocol || s.Integrator.String() != tt.integrator || s.Net.String() != tt.net {
			t.Errorf("%s from %d to %d decimals: got %v", tt.amount, tt.src, tt.dst, s)
		}
	}
}

// TestNoticesEveryChange alters a right answer in every digit and letter.
func TestNoticesEveryChange(t *testing.T) {
	r := newReferee(t)
	pair, err := r.Find("USDC", 59144, "USDC", 369)
	if err != nil {
		t.Fatal(err)
	}
	s := &Swap{pair, big.NewInt(123456789), account, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"}
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
