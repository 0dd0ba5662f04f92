package wallet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
)

// honest are answers of every form there is.
var honest = map[string][2]string{
	"pool":             {"v3", "pair-usdc-1-to-usdc-369"},
	"native":           {"v3", "pair-eth-1-to-weth-369"},
	"other decimals":   {"v3", "pair-usdc-369-to-usdc-56"},
	"burn":             {"v3", "pair-usdc-59144-to-usdc-369"},
	"integrator":       {"v3", "integrator-address"},
	"integrator, burn": {"v3", "integrator-burn"},
	"shielding":        {"v3", "pair-usdc-1-to-usdc-69696969"},
	"v3legacy":         {"v3legacy", "pair-usdc-1-to-usdc-369"},
	"v1":               {"v1", "pair-usdc-1-to-usdc-369"},
}

// A leaf is a value of an answer, and the way to it.
type leaf struct {
	path  string
	value any
	set   func(any)
	unset func()
}

// leaves are all values of a decoded answer.
func leaves(path string, node any) (all []leaf) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			all = append(all, branch(path+"."+key, value, func(v any) { node[key] = v }, func() { delete(node, key) })...)
		}
	case []any:
		for i, value := range node {
			all = append(all, branch(fmt.Sprintf("%s[%d]", path, i), value, func(v any) { node[i] = v }, func() { node[i] = nil })...)
		}
	}
	return all
}

func branch(path string, value any, set func(any), unset func()) []leaf {
	if inner := leaves(path, value); inner != nil {
		return inner
	}
	return []leaf{{path, value, set, unset}}
}

// lies are other values than the true one, of the same form.
func lies(value any) []any {
	switch value := value.(type) {
	case json.Number:
		return []any{json.Number("1" + value.String()), json.Number("7")}
	case string:
		var all []any
		for i, c := range value {
			other := '1'
			if c == other {
				other = '2'
			}
			if strings.HasPrefix(value, "0x") && (i < 2 || len(value) > 100 && i%2 == 0) {
				continue // the same lie as a missing value; or one digit of each byte, as it takes long enough
			}
			all = append(all, value[:i]+string(other)+value[i+1:])
		}
		return append(all, value+"0")
	}
	panic(fmt.Sprintf("an answer with a %T", value))
}

// decode keeps numbers as they are written.
func decode(t *testing.T, body []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestLyingGateway alters every value of every form of answer, digit by digit, and wants each lie to be refused.
func TestLyingGateway(t *testing.T) {
	for name, at := range honest {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(goldens + at[0]); errors.Is(err, fs.ErrNotExist) {
				t.Skipf("%s is gone", at[0])
			}
			g := read(t, at[0], at[1])
			k := knowledge(t, g.swap)
			refused := func(answer any) bool {
				body, err := json.Marshal(answer)
				if err != nil {
					t.Fatal(err)
				}
				q := &Quote{Version: g.version}
				if json.Unmarshal(body, q) != nil {
					return true
				}
				_, err = Check(g.swap, q, k)
				return err != nil
			}
			answer := decode(t, g.body)
			if refused(answer) {
				t.Fatal("the truth is refused")
			}
			told := 0
			for _, leaf := range leaves("", answer) {
				for _, lie := range lies(leaf.value) {
					told++
					leaf.set(lie)
					if !refused(answer) && !harmless(g.swap, leaf.path, leaf.value, lie) {
						t.Errorf("%s: %v passes for %v", leaf.path, lie, leaf.value)
					}
				}
				leaf.set(leaf.value)
				leaf.unset()
				if !refused(answer) {
					t.Errorf("%s may be missing", leaf.path)
				}
				leaf.set(leaf.value)
			}
			if told < 250 {
				t.Errorf("only %d lies were told", told)
			}
		})
	}
}

// harmless tells whether a lie is one that costs nobody anything: a burn's maxFee within its bounds, which the service
// pays; and what in a note only its sender reads.
func harmless(s Swap, path string, truth, lie any) bool {
	if path != ".methodParameters.calldata" || len(truth.(string)) != len(lie.(string)) {
		return false
	}
	data := common.FromHex(lie.(string))
	from, to := 4+5*32, 4+6*32 // maxFee
	if s.Dst.Private() {
		from, to = noteAt, noteAt+noteSize
	}
	if got, want := data, common.FromHex(truth.(string)); !bytes.Equal(got[:from], want[:from]) || !bytes.Equal(got[to:], want[to:]) {
		return false
	}
	if s.Dst.Private() {
		note, err := railgun.ParseNote(data[from:to])
		return err == nil && noteForSender(s, note)
	}
	return s.Route == chain.CCTPInbound && new(big.Int).SetBytes(data[from:to]).Cmp(maxFee(s.Amount)) <= 0
}

// noteForSender tells whether a note can still be opened and spent by its recipient.
func noteForSender(s Swap, note railgun.Note) bool {
	owner, err := railgun.ParseAddress(s.Recipient)
	if err != nil {
		return false
	}
	random, err := railgun.Open(goldenViewingKey, note)
	return err == nil && owner.NPK(random) == note.NPK
}

var goldenViewingKey = [32]byte(common.FromHex("0x1ca1e63cc45ca8fd705fd7438b6a8869b9aaa7b2e333756f2768482f6b90ea10"))

func setMaxFee(q *Quote, fee *big.Int) {
	const at = 2 + 2*(4+5*32)
	data := q.MethodParameters.Calldata
	q.MethodParameters.Calldata = data[:at] + common.BigToHash(fee).Hex()[2:] + data[at+64:]
}

func TestMaxFeeBounds(t *testing.T) {
	g := read(t, "v3", "pair-usdc-59144-to-usdc-369")
	q, k := quote(t, g.version, g.body), knowledge(t, g.swap)
	highest := maxFee(g.swap.Amount)
	setMaxFee(q, highest)
	checked, err := Check(g.swap, q, k)
	if err != nil || checked.MaxFee.Cmp(highest) != 0 {
		t.Errorf("got %v for the highest maxFee %s", err, highest)
	}
	setMaxFee(q, new(big.Int).Add(highest, big.NewInt(1)))
	if _, err := Check(g.swap, q, k); err == nil {
		t.Errorf("a maxFee above %s passes", highest)
	}
}

// TestWhatCannotBeChecked wants it to be said.
func TestWhatCannotBeChecked(t *testing.T) {
	g := read(t, "v3", "integrator-shield")
	k := knowledge(t, g.swap)
	checked, err := Check(g.swap, quote(t, g.version, g.body), k)
	if err != nil || len(checked.Unchecked) != 1 || !strings.Contains(checked.Unchecked[0], "integrator's fee of 0.25 %") {
		t.Errorf("got %+v and %v with a viewing key", checked, err)
	}
	k.ViewingKey = nil
	checked, err = Check(g.swap, quote(t, g.version, g.body), k)
	if err != nil || len(checked.Unchecked) != 2 || !strings.Contains(strings.Join(checked.Unchecked, "\n"), "only the viewing key") {
		t.Errorf("got %+v and %v without a viewing key", checked, err)
	}
}

// TestOwnNote has a gateway put anything in a note's place. Without the viewing key nobody can tell, so the call to sign
// has a note of the wallet's own, and is the call that was asked for in all other bytes.
func TestOwnNote(t *testing.T) {
	g := read(t, "v3", "pair-usdc-1-to-usdc-69696969")
	k := knowledge(t, g.swap)
	opened, err := Check(g.swap, quote(t, g.version, g.body), k)
	if err != nil || opened.OwnNote {
		t.Fatalf("got %+v and %v, want the answer's own note, which the viewing key opens", opened, err)
	}
	k.ViewingKey = nil
	q := quote(t, g.version, g.body)
	answer := common.FromHex(q.MethodParameters.Calldata)
	for i := 0; i < len(answer); i += 5 { // some byte of every word and field
		forged := bytes.Clone(answer)
		forged[i] ^= 1
		q.MethodParameters.Calldata = fmt.Sprintf("0x%x", forged)
		checked, err := Check(g.swap, q, k)
		if i < noteAt {
			if err == nil {
				t.Fatalf("byte %d, outside of the note, may be anything", i)
			}
			continue
		}
		if err != nil {
			t.Fatalf("byte %d, in the note that is not used: %v", i, err)
		}
		data := checked.Main.Data
		note, err := railgun.ParseNote(data[noteAt:])
		if err != nil || !noteForSender(g.swap, note) || !checked.OwnNote {
			t.Fatalf("byte %d: the note to sign is not the recipient's: %v", i, err)
		}
		if !bytes.Equal(data[:noteAt], answer[:noteAt]) || bytes.Contains(data, answer[noteAt:noteAt+32]) {
			t.Fatalf("byte %d: got %x to sign, want the call that was asked for with a note of its own", i, data)
		}
	}
}

// TestLimits wants a quote beyond the limits of one transaction to be refused, however right it is otherwise.
func TestLimits(t *testing.T) {
	for name, test := range map[string]struct {
		golden, amount string
		refused        bool
	}{
		"least":           {"pair-usdc-1-to-usdc-369", "10000000", false},
		"below the least": {"pair-usdc-1-to-usdc-369", "9999999", true},
		"most":            {"pair-usdc-1-to-usdc-369", "25000000000", false},
		"above the most":  {"pair-usdc-1-to-usdc-369", "25000000001", true},
		"18 decimals":     {"pair-usdt-56-to-usdc-369", "25000000000000000000001", true},
		"least ether":     {"pair-eth-1-to-weth-369", "10000000000000000", false},
		"less ether":      {"pair-eth-1-to-weth-369", "9999999999999999", true},
		"more ether":      {"pair-weth-369-to-eth-1", "20000000000000000001", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := read(t, "v3", test.golden)
			g.swap.Amount, _ = new(big.Int).SetString(test.amount, 10)
			_, err := Check(g.swap, quote(t, g.version, g.body), knowledge(t, g.swap))
			// The golden is for another amount, so there are other problems too.
			if got := err != nil && strings.Contains(err.Error(), "and yet there is a quote"); got != test.refused {
				t.Errorf("got %v, want a word about the limits: %v", err, test.refused)
			}
		})
	}
}
