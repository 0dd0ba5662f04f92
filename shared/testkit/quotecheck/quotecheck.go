// Package quotecheck checks a quote of any version with the Go client, which shares no encoder with the gateway. What
// the client takes on trust is held to the specification and to the deployment's contracts: rates, the chain of the
// fees, the issuer's fee. A shield note is opened with its owner's key.
package quotecheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/v3/client"
)

// A Checker knows what a gateway lists, and privacy wallets whose notes can be opened. It is safe for concurrent use.
type Checker struct {
	Listing *client.Listing
	Pairs   []*client.Pair // of the listing

	wallets []wallet
}

type wallet struct {
	Address, ViewingKey string
	AcceptFor           map[uint64]bool // chains
}

// New reads the wallets from the module at root.
func New(root string, listing *client.Listing) (*Checker, error) {
	data, err := os.ReadFile(filepath.Join(root, "testdata/railgun/vectors.json"))
	if err != nil {
		return nil, err
	}
	var vectors struct{ Valid []wallet }
	if err := json.Unmarshal(data, &vectors); err != nil {
		return nil, err
	}
	c := &Checker{Listing: listing, wallets: vectors.Valid}
	for _, row := range listing.Pairs {
		p, err := listing.Find(row.SrcChain, row.SrcToken, row.DstChain, row.DstToken)
		if err != nil {
			return nil, err
		}
		c.Pairs = append(c.Pairs, p)
	}
	return c, nil
}

// Terms are what others decide about a swap.
type Terms struct {
	IntegratorBPS int64
	IssuerBPS     []*big.Rat // the rates of which a burn must have one; the published one if empty
}

// PublishedBPS is the issuer's published fee for burns on a chain. The table is held to testdata/chains.json.
func PublishedBPS(source uint64) *big.Rat {
	n, _ := chain.FindNetwork(chain.ID(source))
	return big.NewRat(int64(n.CCTP.FastFeeMilliBPS), 1000)
}

// Check tells whether an answer is the one that a version must give to a request, with or without details in v3.
func (c *Checker) Check(version string, r client.Request, t Terms, body []byte) (*client.Checked, error) {
	answer := body
	if version != "v3" {
		var err error
		if answer, err = c.translate(version, r, body); err != nil {
			return nil, err
		}
	}
	q, err := client.Verify(r, answer, client.Known{Listing: c.Listing})
	if err != nil {
		return nil, err
	}
	if err := c.checkTerms(q, t); err != nil {
		return nil, err
	}
	if q.Pair.Shields {
		if err := c.openNote(q); err != nil {
			return nil, err
		}
	}
	if version != "v3" {
		return q, nil
	}
	plain := *q.Quote
	if plain.Details != nil { // which the client has compared, and are the end of the answer
		plain.Details = nil
		quote, _, _ := bytes.Cut(body, []byte(`,"details":{`))
		body = append(bytes.Clone(quote), "}\n"...)
	}
	return q, checkBytes(body, plain)
}

// checkTerms holds to the specification what the client takes from the listing, the answer or within bounds.
func (c *Checker) checkTerms(q *client.Checked, t Terms) error {
	p := q.Pair
	if p.FeeBPS != protocolBPS(p) || p.FeeChain != c.feeChain(p) {
		return fmt.Errorf("the protocol takes %d bps on chain %d, want %d on %d",
			p.FeeBPS, p.FeeChain, protocolBPS(p), c.feeChain(p))
	}
	if bps, ok := q.Quote.Fee.Integrator.Percentage.BPS(); bps != t.IntegratorBPS || !ok {
		return fmt.Errorf("the integrator takes %s %%, want %d bps", q.Quote.Fee.Integrator.Percentage, t.IntegratorBPS)
	}
	if p.Type != client.CCTPInbound {
		return nil
	}
	rates := t.IssuerBPS
	if rates == nil {
		rates = []*big.Rat{PublishedBPS(p.SrcChain)}
	}
	isRight := func(bps *big.Rat) bool { return maxFee(q.Request.Amount, bps).Cmp(q.MaxFee) == 0 }
	if !slices.ContainsFunc(rates, isRight) {
		return fmt.Errorf("the issuer may take %s of %s, which fits none of %v bps", q.MaxFee, q.Request.Amount, rates)
	}
	return nil
}

// protocolBPS is section 2.7 of the specification.
func protocolBPS(p *client.Pair) int64 {
	if p.DstChain == uint64(chain.Hub) && !p.Unshields {
		return 30
	}
	return 50
}

// feeChain is where the pool is that pays out.
func (c *Checker) feeChain(p *client.Pair) uint64 {
	if network := p.DstToken.ChainID; slices.Contains([]uint64{1, 56, 369, 4663, 8453}, network) {
		return network
	}
	return c.Listing.Settlement.ChainID
}

// maxFee is the issuer's fee and a fifth of it. Both are rounded up.
func maxFee(amount *big.Int, bps *big.Rat) *big.Int {
	fee := roundUp(new(big.Rat).Mul(bps, new(big.Rat).SetFrac(amount, big.NewInt(10_000))))
	return roundUp(new(big.Rat).Mul(new(big.Rat).SetInt(fee), big.NewRat(6, 5)))
}

func roundUp(r *big.Rat) *big.Int {
	n := new(big.Int).Add(r.Num(), r.Denom())
	return n.Sub(n, big.NewInt(1)).Quo(n, r.Denom())
}

// openNote wants the recipient to be able to open and spend the shield note.
func (c *Checker) openNote(q *client.Checked) error {
	owner, err := railgun.ParseAddress(q.Request.Recipient)
	if err != nil {
		return err
	}
	for _, w := range c.wallets {
		if w.Address == q.Request.Recipient {
			return railgun.CheckNote(q.Note(), owner, [32]byte(common.FromHex(w.ViewingKey)))
		}
	}
	return fmt.Errorf("nobody has the viewing key of %s", q.Request.Recipient)
}

// Wallets lists the 0zk addresses that can be paid on a network.
func (c *Checker) Wallets(network uint64) (addresses []string) {
	for _, w := range c.wallets {
		if w.AcceptFor[network] {
			addresses = append(addresses, w.Address)
		}
	}
	return addresses
}

var hexDigits = regexp.MustCompile(`"0x[0-9a-fA-F]*"`)

// checkBytes wants an answer to be written as the quote that was read from it: with nothing else in it, and nothing in
// another way. The client reads addresses and calldata in any case.
func checkBytes(body []byte, quote any) error {
	text, err := json.Marshal(quote)
	if err != nil {
		return err
	}
	if string(body) != string(text)+"\n" {
		return fmt.Errorf("got %s\nwant %s", body, text)
	}
	for _, quoted := range hexDigits.FindAllString(string(text), -1) {
		got := strings.Trim(quoted, `"`)
		want := strings.ToLower(got)
		if len(got) == len("0x")+2*common.AddressLength {
			want = common.HexToAddress(got).Hex()
		}
		if got != want {
			return fmt.Errorf("got %s, want %s", got, want)
		}
	}
	return nil
}
