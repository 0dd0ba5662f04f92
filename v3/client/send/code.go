package send

import (
	"bytes"
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// codeWait is how long the node may take to give the code of one address.
const codeWait = 5 * time.Second

// needContracts refuses a swap that would pay or approve an address without a contract. If the node does not answer,
// coins are not paid; tokens are, after a warning. What the sender is does not matter.
func (s Sender) needContracts(ctx context.Context, w *Swap) error {
	addresses := []common.Address{w.Main.To} // the spender of the approval, too
	if w.Approval != nil {
		addresses = append(addresses, w.Approval.To)
	}
	for _, address := range addresses {
		code, err := s.codeAt(ctx, address)
		switch {
		case ctx.Err() != nil:
			return unavailable("asking the node for contracts", context.Cause(ctx))
		case err != nil && w.Main.Value.Sign() > 0:
			return failure(ContractUnknown, "not sent: the node does not say whether there is a contract at %s: %w",
				address, err)
		case err != nil:
			s.tell("warning: the node does not say whether there is a contract at %s: %v", address, err)
		case len(code) == 0 || bytes.HasPrefix(code, types.DelegationPrefix): // an EIP-7702 account is no contract
			return failure(NoContract, "not sent: there is no contract at %s on chain %d, and what is sent there is "+
				"lost; do not pay this quote anywhere", address, w.ChainID)
		}
	}
	return nil
}

func (s Sender) codeAt(ctx context.Context, address common.Address) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, codeWait)
	defer cancel()
	return s.Backend.CodeAt(ctx, address, nil)
}
