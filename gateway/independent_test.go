package gateway_test

import (
	"encoding/hex"
	"encoding/json"
	"math/big"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/railgun"
)

// This file works a golden's answer out again from its request and the public
// facts alone, with go-ethereum's encoder, big rationals and nothing of ours
// but the opening of shield notes. What both agree on is not a coincidence.

const contractsABI = `[
 {"type":"function","name":"swap","inputs":[{"type":"uint256","name":"a"},{"type":"uint256","name":"b"},{"type":"bytes","name":"c"},{"type":"uint8","name":"d"},{"type":"address","name":"e"},{"type":"bytes32","name":"f"}]},
 {"type":"function","name":"approve","inputs":[{"type":"address","name":"a"},{"type":"uint256","name":"b"}]},
 {"type":"function","name":"depositForBurnWithHook","inputs":[{"type":"uint256","name":"a"},{"type":"uint32","name":"b"},{"type":"bytes32","name":"c"},{"type":"address","name":"d"},{"type":"bytes32","name":"e"},{"type":"uint256","name":"f"},{"type":"uint32","name":"g"},{"type":"bytes","name":"h"}]}]`

// fact is one chain of testdata/chains.json.
type fact struct {
	ChainID uint64
	CCTP    *struct {
		Domain         uint32
		TokenMessenger string
		FastFeeBps     json.Number
	}
	Tokens map[string]struct {
		Address  string
		Decimals int64
	}
}

// referee knows the public facts and the reference deployment, read from
// their files.
type referee struct {
	facts      map[uint64]fact
	deployment struct {
		Settlement struct {
			ChainID  uint64
			Receiver string
		}
		Pools []struct {
			ChainID uint64
			Token   string
			Router  string
		}
	}
	abi abi.ABI
}

func newReferee(t *testing.T) *referee {
	t.Helper()
	r := &referee{facts: map[uint64]fact{}}
	var facts []fact
	readJSON(t, "../testdata/chains.json", &facts)
	for _, f := range facts {
		r.facts[f.ChainID] = f
	}
	readJSON(t, "../shared/chain/reference.json", &r.deployment)
	var err error
	if r.abi, err = abi.JSON(strings.NewReader(contractsABI)); err != nil {
		t.Fatal(err)
	}
	return r
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

var cctpSources = []string{"43114", "42161", "10", "137", "130", "59144", "480", "98866", "2818", "57073", "143", "146", "1329", "999", "1672", "25"}

const native = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"

// token resolves a symbol or address of a request to address, symbol and decimals.
func (r *referee) token(routing, name string) (address, symbol string, decimals int64) {
	chain := map[string]uint64{"69696969": 1, "96969696": 56}[routing]
	if chain == 0 {
		n, _ := new(big.Int).SetString(routing, 10)
		chain = n.Uint64()
	}
	if strings.EqualFold(name, "ETH") || strings.EqualFold(name, native) || name == "0x0000000000000000000000000000000000000000" {
		return native, "ETH", 18
	}
	for symbol, t := range r.facts[chain].Tokens {
		if strings.EqualFold(name, symbol) || strings.EqualFold(name, t.Address) {
			return t.Address, symbol, t.Decimals
		}
	}
	return "", "", 0
}

// answer is what all versions have in common.
type answer struct {
	To                    string
	SrcAmount, DestAmount string
	Approval              *struct{ Token, Spender, Amount, Calldata string }
	MethodParameters      struct{ Calldata, Value string }
}

func TestGoldensAgainstIndependentArithmetic(t *testing.T) {
	gw, referee := newGateway(t), newReferee(t)
	checked := map[string]int{}
	for _, g := range goldens(t) {
		req := g.newRequest(t)
		query := req.URL.Query()
		if !strings.HasPrefix(g.answer, "200") || query.Get("srcToken") == "" || req.Method != "GET" {
			continue
		}
		checked[g.version]++
		t.Run(g.name(), func(t *testing.T) {
			w := httptest.NewRecorder()
			gw.ServeHTTP(w, req)
			var got answer
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			referee.check(t, g.version, query, got)
		})
	}
	for _, m := range modules() {
		if checked[m.Name] < 50 {
			t.Errorf("only %d quotes of %s were checked", checked[m.Name], m.Name)
		}
	}
}

func (r *referee) check(t *testing.T, version string, query url.Values, got answer) {
	src, dst := query.Get("srcChain"), query.Get("dstChain")
	srcToken, srcSymbol, srcDecimals := r.token(src, query.Get("srcToken"))
	dstToken, _, dstDecimals := r.token(dst, query.Get("dstToken"))
	amount, _ := new(big.Int).SetString(query.Get("amount"), 10)

	// Destination amount: the gross, floored, less each fee, floored.
	gross := new(big.Int).Mul(amount, pow10(dstDecimals))
	gross.Quo(gross, pow10(srcDecimals))
	protocol := int64(50)
	if dst == "369" && src != "69696969" && src != "96969696" {
		protocol = 30
	}
	var integrator [32]byte
	fees := share(gross, protocol)
	if id := query.Get("integratorId"); id != "" && version == "v3" {
		integrator = [32]byte(common.LeftPadBytes(common.FromHex(id), 32))
		fees.Add(fees, share(gross, 25))
	}
	if want := new(big.Int).Sub(gross, fees).String(); got.DestAmount != want {
		t.Errorf("got destAmount %s, want %s", got.DestAmount, want)
	}

	// The call.
	burn := slices.Contains(cctpSources, src)
	target := ""
	for _, p := range r.deployment.Pools {
		if new(big.Int).SetUint64(p.ChainID).String() == src && p.Token == srcSymbol {
			target = p.Router
		}
	}
	if burn {
		target = "0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d"
	}
	if got.To != target {
		t.Errorf("got to %s, want %s", got.To, target)
	}
	recipient, kind := r.recipient(t, query.Get("recipient"), got.MethodParameters.Calldata)
	var want []byte
	var err error
	dstID, _ := new(big.Int).SetString(dst, 10)
	if burn {
		receiver := [32]byte(common.LeftPadBytes(common.FromHex(r.deployment.Settlement.Receiver), 32))
		hook := slices.Concat(common.LeftPadBytes(dstID.Bytes(), 32), common.FromHex(dstToken), integrator[:], []byte{kind}, recipient)
		srcID, _ := new(big.Int).SetString(src, 10)
		want, err = r.abi.Pack("depositForBurnWithHook", amount, r.facts[r.deployment.Settlement.ChainID].CCTP.Domain, receiver,
			common.HexToAddress(srcToken), receiver, maxFee(amount, r.facts[srcID.Uint64()].CCTP.FastFeeBps), uint32(1000), hook)
	} else {
		want, err = r.abi.Pack("swap", dstID, amount, recipient, kind, common.HexToAddress(dstToken), integrator)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.MethodParameters.Calldata != "0x"+hex.EncodeToString(want) {
		t.Errorf("got calldata\n%s, want\n0x%x", got.MethodParameters.Calldata, want)
	}

	// Value and approval.
	wantValue := "0x0"
	if srcToken == native {
		wantValue = "0x" + amount.Text(16)
	}
	if got.MethodParameters.Value != wantValue {
		t.Errorf("got value %s, want %s", got.MethodParameters.Value, wantValue)
	}
	if wantApproval := srcToken != native && version != "v1"; (got.Approval != nil) != wantApproval {
		t.Errorf("got approval %v, want one: %v", got.Approval, wantApproval)
	}
	if a := got.Approval; a != nil {
		data, err := r.abi.Pack("approve", common.HexToAddress(target), amount)
		if err != nil {
			t.Fatal(err)
		}
		if a.Token != srcToken || a.Spender != target || a.Amount != amount.String() || a.Calldata != "0x"+hex.EncodeToString(data) {
			t.Errorf("got approval %+v of %s for %s", a, srcToken, target)
		}
	}
}

// viewingKey belongs to the first known answer of testdata/railgun/vectors.json,
// whose address the goldens shield to.
func viewingKey(t *testing.T, address string) (key [32]byte) {
	t.Helper()
	var vectors struct {
		Valid []struct{ Address, ViewingKey string }
	}
	readJSON(t, "../testdata/railgun/vectors.json", &vectors)
	for _, v := range vectors.Valid {
		if v.Address == address {
			return [32]byte(common.FromHex(v.ViewingKey))
		}
	}
	t.Fatalf("nobody has the viewing key of %s", address)
	return key
}

// recipient gives the bytes that must name the recipient. A shield note is
// taken from the calldata once its owner has opened it and found the npk right.
func (r *referee) recipient(t *testing.T, text, calldata string) ([]byte, uint8) {
	t.Helper()
	if !strings.HasPrefix(text, "0zk") {
		if text == "" {
			return make([]byte, 20), 0
		}
		return common.FromHex(text), 0
	}
	data := common.FromHex(calldata)
	if len(data) != 4+7*32+160 {
		t.Fatalf("a shielding call has %d bytes, want %d", len(data), 4+7*32+160)
	}
	note, err := railgun.ParseNote(data[4+7*32:])
	if err != nil {
		t.Fatal(err)
	}
	random, err := railgun.Open(viewingKey(t, text), note)
	if err != nil {
		t.Fatalf("the recipient cannot open the note: %v", err)
	}
	owner, err := railgun.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	if owner.NPK(random) != note.NPK {
		t.Fatal("the recipient can see the note but never spend it: wrong npk")
	}
	return data[4+7*32:], 2
}

func pow10(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

func share(amount *big.Int, bps int64) *big.Int {
	fee := new(big.Int).Mul(amount, big.NewInt(bps))
	return fee.Quo(fee, big.NewInt(10_000))
}

// maxFee is ceil(ceil(amount × bps / 10000) × 1.2).
func maxFee(amount *big.Int, bps json.Number) *big.Int {
	rate, _ := new(big.Rat).SetString(bps.String())
	estimate := ceil(rate.Mul(rate, new(big.Rat).SetFrac(amount, big.NewInt(10_000))))
	return ceil(new(big.Rat).Mul(new(big.Rat).SetInt(estimate), big.NewRat(6, 5)))
}

func ceil(r *big.Rat) *big.Int {
	n := new(big.Int).Add(r.Num(), r.Denom())
	n.Sub(n, big.NewInt(1))
	return n.Quo(n, r.Denom())
}
