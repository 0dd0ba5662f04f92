package localnet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
)

// A sealer is the chain's way of taking transactions, in the place of the node's own. Its exported methods are those of
// the RPC namespace eth.
type sealer struct {
	backend *eth.Ethereum
	beacon  *catalyst.SimulatedBeacon

	mu     sync.Mutex
	closed bool
}

// SendRawTransaction takes a signed transaction and seals it in a block.
func (s *sealer) SendRawTransaction(ctx context.Context, raw hexutil.Bytes) (common.Hash, error) {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return common.Hash{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return common.Hash{}, errors.New("the chain is closed")
	}
	if err := s.backend.APIBackend.SendTx(ctx, tx); err != nil {
		return common.Hash{}, err
	}
	head := s.backend.BlockChain().CurrentBlock().Hash()
	if s.beacon.Commit() == head {
		return common.Hash{}, errors.New("no block was sealed")
	}
	// The pool learns of the block in its own time; the next sender should not see it lag.
	return tx.Hash(), s.backend.TxPool().Sync()
}

// seal is Chain.Seal.
func (s *sealer) seal(after uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	head := s.backend.BlockChain().CurrentBlock()
	switch {
	case s.closed:
		return nil
	case after == 0:
		s.beacon.Commit()
	case after > head.Time:
		if err := s.beacon.AdjustTime(time.Duration(after-head.Time) * time.Second); err != nil {
			return err
		}
	}
	return s.backend.TxPool().Sync() // see SendRawTransaction
}

func (s *sealer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
