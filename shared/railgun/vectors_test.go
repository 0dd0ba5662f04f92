package railgun

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// vectors are answers of the public engine; see "about" in the file.
type vectors struct {
	Valid   []validVector
	Invalid []struct{ Code, Reason, Address string }
	Edge    []struct{ Code, Address, SameAs string }
}

type validVector struct {
	ID               int
	Note             string
	ViewingKey       hexBytes
	MasterPublicKey  hexBytes
	ViewingPublicKey hexBytes
	Address          string
	AcceptFor        map[uint64]bool
	Random           hexBytes
	ShieldPrivateKey hexBytes
	GcmIV            hexBytes
	CtrIV            hexBytes
	NPK              hexBytes
	EncryptedBundle  [3]hexBytes
	ShieldKey        hexBytes
	ShieldCalldata   hexBytes
}

func (v validVector) secrets() *secrets {
	return &secrets{
		random:        [16]byte(v.Random),
		shieldPrivate: [32]byte(v.ShieldPrivateKey),
		gcmIV:         [16]byte(v.GcmIV),
		ctrIV:         [16]byte(v.CtrIV),
	}
}

func (v validVector) note() Note {
	n := Note{NPK: [32]byte(v.NPK), ShieldKey: [32]byte(v.ShieldKey)}
	for i, word := range v.EncryptedBundle {
		n.EncryptedBundle[i] = [32]byte(word)
	}
	return n
}

type hexBytes []byte

func (b *hexBytes) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	decoded, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	*b = decoded
	return err
}

func loadVectors(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("../../testdata/railgun/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Valid) != 20 || len(v.Invalid) != 26 || len(v.Edge) != 4 {
		t.Fatalf("got %d valid, %d invalid, %d edge vectors, want 20, 26, 4", len(v.Valid), len(v.Invalid), len(v.Edge))
	}
	return v
}

func (v vectors) edge(t testing.TB, code string) string {
	t.Helper()
	for _, e := range v.Edge {
		if e.Code == code {
			return e.Address
		}
	}
	t.Fatalf("no edge vector %q", code)
	return ""
}

func mustParse(t testing.TB, text string) Address {
	t.Helper()
	a, err := ParseAddress(text)
	if err != nil {
		t.Fatalf("ParseAddress: %v", err)
	}
	return a
}
