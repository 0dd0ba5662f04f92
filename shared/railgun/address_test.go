package railgun

import (
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"filippo.io/edwards25519"

	"github.com/quotegate/quotegate/shared/fault"
)

func TestParseAddress(t *testing.T) {
	for _, v := range loadVectors(t).Valid {
		t.Run(v.Note, func(t *testing.T) {
			a := mustParse(t, v.Address)
			if got, want := a.master, [32]byte(v.MasterPublicKey); got != want {
				t.Errorf("got master public key %x, want %x", got, want)
			}
			if got, want := a.viewing, [32]byte(v.ViewingPublicKey); got != want {
				t.Errorf("got viewing public key %x, want %x", got, want)
			}
			if got := a.String(); got != v.Address {
				t.Errorf("got %s, want %s again", got, v.Address)
			}
			for chainID, want := range v.AcceptFor {
				if err := a.PayableOn(chainID); (err == nil) != want {
					t.Errorf("PayableOn(%d): got %v, want payable %t", chainID, err, want)
				}
			}
		})
	}
}

// refusal fails the test unless err is a message for the caller about text.
func refusal(t testing.TB, text string, err error) string {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.InvalidRecipient || f.Param != "" || f.Message == "" {
		t.Fatalf("got %#v, want an %s that leaves the parameter to the caller", err, fault.InvalidRecipient)
	}
	if len(text) > 12 && strings.Contains(f.Message, text[:12]) {
		t.Errorf("message repeats the address: %q", f.Message)
	}
	return f.Message
}

func TestParseAddressRefuses(t *testing.T) {
	const (
		checksum = "checksum does not match; a character is wrong or out of place"
		start    = "it does not start with 0zk1"
		field    = "master public key is not below the prime of the field"
		order    = "viewing public key is not of prime order, and no wallet has such a key"
	)
	reasons := map[string]string{
		"last character changed":                                checksum,
		"one data character changed (in the master public key)": checksum,
		"two neighbouring characters swapped":                   checksum,
		"human-readable part 1zk with its own correct checksum": start,
		"human-readable part bc with its own correct checksum":  start,
		"prefix replaced, checksum left":                        start,
		"payload 41 bytes (no viewing key), correct checksum":   "it has 76 characters, must have 127",
		"payload 74 bytes, correct checksum":                    "it has 129 characters, must have 127",
		"last character missing":                                "it has 126 characters, must have 127",
		"first data character missing":                          "it has 126 characters, must have 127",
		"bech32 (BIP-173) checksum instead of bech32m":          "checksum is of bech32, must be of bech32m",
		"padding bit set, correct checksum":                     "padding after the payload is not zero",
		"upper-case prefix, lower-case data":                    "upper and lower case are mixed",
		`contains "b", not in the bech32 alphabet`:              "character 51 ('b') is not in the bech32 alphabet",
		"leading space":                      "character 1 (' ') is not allowed",
		"trailing newline":                   `character 128 ('\n') is not allowed`,
		"empty string":                       "it is empty",
		"prefix and separator only":          "it has 4 characters, must have 127",
		"version byte 2, correct checksum":   "version is 2, must be 1",
		"version byte 255, correct checksum": "version is 255, must be 1",

		"master public key = field prime (engine decodes it; poseidon would silently reduce it)": field,
		"master public key = 2^256-1": field,
		"viewing public key is the identity: shared key would be public knowledge":    order,
		"viewing public key has order 2":                                              order,
		"viewing public key has order 8":                                              order,
		"viewing public key y >= p (engine WASM accepts, engine JS fallback rejects)": "viewing public key is not in its canonical form",
	}
	v := loadVectors(t)
	for _, invalid := range v.Invalid {
		t.Run(invalid.Reason, func(t *testing.T) {
			_, err := ParseAddress(invalid.Address)
			got := refusal(t, invalid.Address, err)
			if want := "Invalid 0zk address: " + reasons[invalid.Reason]; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// payload is that of a valid address, with some bytes replaced.
func payload(t testing.TB, at int, hexText string) [payloadSize]byte {
	t.Helper()
	p, err := decodeText(knownAnswers[0].address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hex.Decode(p[at:], []byte(hexText)); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseAddressKeys(t *testing.T) {
	const below = "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000000"
	zeros := strings.Repeat("00", 31)
	ones := strings.Repeat("ff", 30)
	sixes := strings.Repeat("66", 31)
	for _, test := range []struct {
		name, key string
		at        int
		want      string // of the refusal; empty if accepted
	}{
		{"largest master public key", below, masterStart, ""},
		{"prime", below[:63] + "1", masterStart, "master public key is not below"},
		{"zero master public key", zeros + "00", masterStart, "master public key is zero"},
		{"smallest master public key", zeros + "01", masterStart, ""},
		{"y = 2 is not on the curve", "02" + zeros, viewingStart, "not a point of the curve"},
		{"y = 3 is, with a part of small order", "03" + zeros, viewingStart, "not of prime order"},
		{"the generator", "58" + sixes, viewingStart, ""},
		{"the generator, other sign", "58" + sixes[2:] + "e6", viewingStart, ""},
		{"y = q + 3 is 3 again", "f0" + ones + "7f", viewingStart, "canonical"},
		{"y = 0, order 4", "00" + zeros, viewingStart, "not of prime order"},
		{"y = 0, other point of order 4", "00" + zeros[2:] + "80", viewingStart, "not of prime order"},
		{"y = q is 0 again", "ed" + ones + "7f", viewingStart, "canonical"},
		{"y = 1, x = -0", "01" + zeros[2:] + "80", viewingStart, "canonical"},
		{"y = -1, x = -0", "ec" + ones + "ff", viewingStart, "canonical"},
		{"y = q - 1, order 2", "ec" + ones + "7f", viewingStart, "not of prime order"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := payload(t, test.at, test.key)
			text := encodeText(p)
			a, err := ParseAddress(text)
			if test.want == "" {
				if err != nil || a.String() != text {
					t.Fatalf("got %v, want the address accepted", err)
				}
				return
			}
			if got := refusal(t, text, err); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

// TestPrimeOrder adds a point of small order to the keys of 200 wallets. The owner of such
// an address could not open what it is paid: all notes with order 8, three quarters with 4,
// half with 2.
func TestPrimeOrder(t *testing.T) {
	// One of the points of order 8, as every list of small points has it.
	encoded, _ := hex.DecodeString("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
	eighth, err := new(edwards25519.Point).SetBytes(encoded)
	if err != nil {
		t.Fatal(err)
	}
	quarter := new(edwards25519.Point).Add(eighth, eighth)
	half := new(edwards25519.Point).Add(quarter, quarter)
	small := map[int]*edwards25519.Point{2: half, 4: quarter, 8: eighth}
	withKey := func(key *edwards25519.Point) string {
		return encodeText(payload(t, viewingStart, hex.EncodeToString(key.Bytes())))
	}
	for wallet := range 200 {
		private := [32]byte{byte(wallet), 1}
		public := new(edwards25519.Point).ScalarBaseMult(privateScalar(private))
		honest := mustParse(t, withKey(public))
		note, err := NewNote(honest)
		if err != nil {
			t.Fatal(err)
		}
		if random, err := Open(private, note); err != nil || honest.NPK(random) != note.NPK {
			t.Errorf("wallet %d cannot spend its note: %v", wallet, err)
		}
		for order, point := range small {
			text := withKey(new(edwards25519.Point).Add(public, point))
			_, err := ParseAddress(text)
			if err == nil {
				t.Errorf("wallet %d with a point of order %d is accepted", wallet, order)
				continue
			}
			const want = "Invalid 0zk address: viewing public key is not of prime order, and no wallet has such a key"
			if got := refusal(t, text, err); got != want || fault.From(err).Reason != fault.Malformed {
				t.Errorf("wallet %d with a point of order %d: got %q (%s), want %q",
					wallet, order, got, fault.From(err).Reason, want)
			}
		}
	}
}

func TestParseAddressPolicy(t *testing.T) {
	v := loadVectors(t)
	upper := v.edge(t, "uppercase")
	if got, want := mustParse(t, upper), mustParse(t, strings.ToLower(upper)); !reflect.DeepEqual(got, want) {
		t.Errorf("in upper case: got %v, want %v", got, want)
	}
	mixed := v.edge(t, "mixed-order-vpk") // which the engine takes
	if _, err := ParseAddress(mixed); !strings.Contains(refusal(t, mixed, err), "not of prime order") {
		t.Errorf("a viewing key of mixed order: got %v", err)
	}
	const want = "The 0zk address is bound to chain 0, the route needs chain 1"
	if got := refusal(t, "", mustParse(t, v.edge(t, "chain-id-zero")).PayableOn(1)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	placeholder := v.edge(t, "engine-test-vector") // of the engine's tests
	_, err := ParseAddress(placeholder)
	refusal(t, placeholder, err)
}

// TestEqual: addresses are equal if their texts are, and differ with any of
// their three parts.
func TestEqual(t *testing.T) {
	var addresses []Address
	for at, digits := range map[int]string{0: "01", masterStart: "01", networkStart: "7261696c67756e01", viewingStart: "58" + strings.Repeat("66", 31)} {
		addresses = append(addresses, mustParse(t, encodeText(payload(t, at, digits))))
	}
	for _, a := range addresses {
		for _, b := range addresses {
			if got, want := a.Equal(mustParse(t, b.String())), a.String() == b.String(); got != want {
				t.Errorf("%s and %s: got %t, want %t", a, b, got, want)
			}
		}
	}
}

func TestPayableOn(t *testing.T) {
	const every, evm, other = "ffffffffffffffff", "0000000000000038", "0100000000000038"
	for _, test := range []struct {
		name, network string
		chainID       uint64
		want          string // of the refusal; empty if payable
	}{
		{"all chains", every, 1, ""},
		{"the same chain", evm, 56, ""},
		{"another chain", evm, 1, "The 0zk address is bound to chain 56, the route needs chain 1"},
		{"the same number, not EVM", other, 56,
			"The 0zk address is bound to chain 56 of a network type other than EVM (type 1), the route needs chain 56"},
		{"type and number as one", other, 0x0100000000000038,
			"The 0zk address is bound to chain 56 of a network type other than EVM (type 1), the route needs chain 72057594037927992"},
		{"largest chain", "00ffffffffffffff", 1<<56 - 1, ""},
		{"nearly all chains", "fffffffffffffffe", 1,
			"The 0zk address is bound to chain 72057594037927934 of a network type other than EVM (type 255), the route needs chain 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := payload(t, networkStart, test.network)
			for i, mask := range "railgun" {
				p[networkStart+i] ^= byte(mask)
			}
			err := mustParse(t, encodeText(p)).PayableOn(test.chainID)
			if test.want == "" {
				if err != nil {
					t.Errorf("got %v, want payable", err)
				}
				return
			}
			if got := refusal(t, "", err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The code finds any single wrong character at any length up to 1023, so no
// typing error pays another address.
func TestEveryWrongCharacterIsRefused(t *testing.T) {
	text := knownAnswers[0].address
	for at := range text {
		for _, c := range alphabet + "1bio" {
			wrong := text[:at] + string(c) + text[at+1:]
			if _, err := ParseAddress(wrong); wrong != text && err == nil {
				t.Errorf("accepted with %q at %d", c, at)
			}
		}
		if _, err := ParseAddress(text[:at]); err == nil {
			t.Errorf("accepted cut at %d", at)
		}
	}
}

// Folding case must not turn a look-alike into a letter.
func TestParseAddressRefusesOtherAlphabets(t *testing.T) {
	rest := knownAnswers[0].address[3:]
	swapped := func(c string) string { return "0zk" + rest[:9] + c + rest[10:] }
	for text, want := range map[string]string{
		"0z\u212a" + strings.ToUpper(rest): "character 3 ('\u212a') is not allowed", // Kelvin sign, k in lower case
		"0zk\x00" + rest:                   `character 4 ('\x00') is not allowed`,
		"0zk" + rest + "\xff":              "character 128 ('\ufffd') is not allowed",
		"0zk1\x7f":                         `character 5 ('\x7f') is not allowed`,
		swapped(" "):                       "character 13 (' ') is not allowed",
		swapped("!"):                       "character 13 ('!') is not in the bech32 alphabet",
		swapped("~"):                       "character 13 ('~') is not in the bech32 alphabet",
	} {
		_, err := ParseAddress(text)
		if got := refusal(t, text, err); got != "Invalid 0zk address: "+want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLooksLikeAddress(t *testing.T) {
	for text, want := range map[string]bool{
		knownAnswers[0].address:                  true,
		strings.ToUpper(knownAnswers[0].address): true,
		"0zk":                                    true,
		"0Zk with anything after it":             true,
		"0z":                                     false,
		"":                                       false,
		" 0zk1":                                  false,
		"0z\u212a1":                              false, // a Kelvin sign folds to k, but is none
		"0x2170Ed0880ac9A755fd29B2688956BD959F933F8": false,
	} {
		if got := LooksLikeAddress(text); got != want {
			t.Errorf("LooksLikeAddress(%q): got %t, want %t", text, got, want)
		}
	}
}
