package selfcheck

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/words"
)

// contract is one that the deployment names.
type contract struct {
	what    What
	role    string // such as "router of USDC"
	address chain.Address
	token   chain.Token // of a router: what it takes
}

func (c contract) name(network chain.ID) string {
	return fmt.Sprintf("chain %s, %s %s", network, c.role, c.address)
}

// contracts are those of the deployment on a network. A nil deployment has none.
func contracts(d *chain.Deployment, network chain.ID) (found []contract) {
	if d == nil {
		return nil
	}
	pooled := slices.Contains(chain.PoolChains, network)
	for _, row := range d.Routers() {
		switch {
		case row.ChainID.Network() != network:
		case !pooled:
			found = append(found, contract{what: Messenger, role: "messenger", address: row.Router})
		case row.ChainID.Private():
			role := fmt.Sprintf("router of %s for %s", row.Token.Symbol, row.ChainID)
			found = append(found, contract{Router, role, row.Router, row.Token})
		default:
			found = append(found, contract{Router, "router of " + row.Token.Symbol, row.Router, row.Token})
		}
	}
	if pooled {
		found = append(found, contract{what: Registry, role: "registry", address: d.Registry(network)})
	}
	if network == d.Settlement.ChainID {
		found = append(found, contract{what: Receiver, role: "receiver", address: d.Settlement.Receiver})
	}
	return found
}

// examine asks an endpoint about the contracts of its chain. For each it returns
// what is wrong with it, or nothing. The error is a *rpc.Failure of the endpoint.
func examine(ctx context.Context, e *rpc.Endpoint, network chain.ID, all []contract) ([]string, error) {
	if err := checkHead(ctx, e, network); err != nil {
		return nil, err
	}
	problems := make([]string, len(all))
	outputs := make([]hexutil.Bytes, len(all))
	var reads []rpc.Read
	var readOf []int // the contract of each read
	for i, c := range all {
		var code hexutil.Bytes
		if err := e.ReadAll(ctx, rpc.ReadCode(c.address.Address, &code)); err != nil {
			return nil, err
		}
		if problems[i] = checkCode(code); problems[i] != "" {
			continue
		}
		switch c.what {
		case Router:
			reads = append(reads, rpc.ReadContract(c.address.Address, calldata.Token(), &outputs[i]))
		case Registry:
			reads = append(reads, rpc.ReadContract(c.address.Address, integrator.Probe(), &outputs[i]))
		default:
			continue
		}
		readOf = append(readOf, i)
	}
	if err := e.Batch(ctx, reads); err != nil {
		return nil, err
	}
	for n, read := range reads {
		i := readOf[n]
		if all[i].what == Registry {
			problems[i] = checkRegistry(outputs[i], read.Err)
		} else if read.Err == nil {
			problems[i] = checkToken(outputs[i], all[i].token)
		}
	}
	return problems, nil
}

// checkHead fails if the endpoint stands still.
func checkHead(ctx context.Context, e *rpc.Endpoint, network chain.ID) error {
	var latest *rpc.Block
	if err := e.ReadAll(ctx, rpc.ReadLatest(&latest)); err != nil {
		return err
	}
	if latest == nil {
		return &rpc.Failure{Reason: rpc.Undecodable, Text: "it has no latest block"}
	}
	if age := time.Since(time.Unix(int64(min(latest.Time, 1<<40)), 0)); age > network.UsualGap() {
		return &rpc.Failure{Reason: rpc.Declined, Text: "it stands still: its latest block is " + words.Span(age) + " old"}
	}
	return nil
}

// delegation begins the code of a plain account that runs the code of a contract
// (EIP-7702). The address of the contract follows.
var delegation = []byte{0xef, 0x01, 0x00}

func checkCode(code []byte) string {
	switch {
	case len(code) == 0:
		return "there is no contract at this address"
	case bytes.HasPrefix(code, delegation) && len(code) == len(delegation)+common.AddressLength:
		return "this is a plain account that borrows the code of a contract, and its owner can change that at any time"
	}
	return ""
}

func checkRegistry(output []byte, f *rpc.Failure) string {
	const wrong = "this contract does not answer as a registry: "
	if f != nil {
		return wrong + f.Text
	}
	if len(output) == 0 {
		return wrong + "it answers nothing"
	}
	if err := integrator.CheckProbe(output); err != nil {
		return wrong + err.Error()
	}
	return ""
}

// checkToken compares what a pool says to be its token. Output of another shape
// is not an answer to token(), which a pool need not have.
func checkToken(output []byte, want chain.Token) string {
	const word = 32
	if len(output) != word || len(bytes.TrimLeft(output, "\x00")) > common.AddressLength {
		return ""
	}
	if got := common.BytesToAddress(output); got != want.Address.Address {
		return fmt.Sprintf("this pool takes the token %s, and not %s, which is %s", got, want.Symbol, want.Address)
	}
	return ""
}
