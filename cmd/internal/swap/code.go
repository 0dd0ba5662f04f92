package swap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

var (
	// ErrNoContract is the error of a swap that would pay or approve an address without a contract. Nothing was
	// signed.
	ErrNoContract = errors.New("NO_CONTRACT")

	// ErrContractUnknown is the error of a swap of coins whose node does not say whether there is a contract.
	// Nothing was signed.
	ErrContractUnknown = errors.New("CONTRACT_UNKNOWN")
)

// codeWait is how long the node may take to tell the code of one address.
const codeWait = 5 * time.Second

// needContracts refuses a swap that would pay or approve an address without a contract. What the sender is does not
// matter. Where the node does not tell, coins are not paid; tokens are, after a warning.
func (s Sender) needContracts(ctx context.Context, q *Checked) error {
	addresses := []common.Address{q.Main.To} // the spender of the approval, too
	if q.Approval != nil {
		addresses = append(addresses, q.Approval.To)
	}
	for _, address := range addresses {
		code, err := s.codeAt(ctx, address)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && q.Main.Value.Sign() > 0:
			return fmt.Errorf("%w: not sent: the node does not say whether there is a contract at %s: %w",
				ErrContractUnknown, address, err)
		case err != nil:
			s.tell(fmt.Sprintf("warning: the node does not say whether there is a contract at %s: %v", address, err))
		case len(code) == 0 || bytes.HasPrefix(code, types.DelegationPrefix): // an EIP-7702 account is no contract
			return fmt.Errorf("%w: not sent: there is no contract at %s on chain %s, and what is sent there is lost; "+
				"do not pay this quote anywhere", ErrNoContract, address, q.Swap.Src.Network())
		}
	}
	return nil
}

func (s Sender) codeAt(ctx context.Context, address common.Address) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, codeWait)
	defer cancel()
	var code string // stays empty for null, which is no answer
	if err := s.Node.Client().CallContext(ctx, &code, "eth_getCode", address, "latest"); err != nil {
		return nil, err
	}
	return hexutil.Decode(code)
}
