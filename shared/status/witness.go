package status

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto/keccak"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// What is final, and a source that is not read again, is what two endpoints say where
// there are two: the same receipt or event in the same block, at a head that is deep
// enough and does not stand still. The only endpoint of a chain is believed.

// These have the next endpoint asked. No endpoint rests because of them.
var (
	errDiffers  = &rpc.Failure{Reason: rpc.Declined, Text: "it says something else than another endpoint"}
	errShallow  = &rpc.Failure{Reason: rpc.Declined, Text: "its latest block is lower than that of another endpoint"}
	errItself   = &rpc.Failure{Reason: rpc.Declined, Text: "it was asked already"}
	errDoubtful = &rpc.Failure{Reason: rpc.Declined, Text: "it contradicts itself"}
)

func disagree(network chain.ID) string {
	return fmt.Sprintf("The nodes of chain %s disagree, so that this is not final; it is asked for again", network)
}

func alone(network chain.ID) string {
	return fmt.Sprintf("Only one node of chain %s that is up to date could be asked, so that this is not final; "+
		"it is asked for again", network)
}

// digest is what a receipt says of swaps: its block, whether it failed, and the events
// of the deployment's routers.
func (l *lookup) digest(r *rpc.Receipt) (digest common.Hash) {
	hasher := keccak.NewLegacyKeccak256()
	hasher.Write(r.BlockHash[:])
	hasher.Write([]byte{byte(*r.Status)})
	for i := range r.Logs {
		log := &r.Logs[i]
		if _, ours := l.tracker.deployment.FindRouter(l.key.Network, log.Address); !ours {
			continue
		}
		hasher.Write(log.Address[:])
		hasher.Write([]byte{byte(len(log.Topics))})
		for _, topic := range log.Topics {
			hasher.Write(topic[:])
		}
		fmt.Fprint(hasher, len(log.Data), ":")
		hasher.Write(log.Data)
	}
	hasher.Sum(digest[:0])
	return digest
}

// witness finds out whether what was read of the source is believed.
func (l *lookup) witness(ctx context.Context) {
	src, network := l.source, l.key.Network
	need := l.tracker.deployment.Confirmations(network)
	switch {
	case l.tracker.chains.Endpoints(network) < 2:
		src.agreed = true
	case src.stale: // every other endpoint was asked, and is not up to date or has no receipt
		l.passing = true
		l.object(src)
	case src.doubt != "": // every other endpoint was asked, and has nothing better
	case src.isSwap() && src.Confirmations < need: // nothing that is told yet can be contradicted
	default:
		l.witnessSource(ctx, need)
	}
}

// object says why a source is not believed.
func (l *lookup) object(src *source) {
	src.contradicted = src.contradicted || l.unknown > 0 || l.transaction != nil
	src.doubt = alone(l.key.Network)
	if src.contradicted {
		src.doubt = disagree(l.key.Network)
	}
}

// witnessSource asks other endpoints until one says the same of the source. If two say
// the same of it, and something else than the first, they are believed.
func (l *lookup) witnessSource(ctx context.Context, need uint64) {
	src, network := l.source, l.key.Network
	deepSource := src.Confirmations >= need
	wanted := need
	if !deepSource {
		wanted = 1 // it is not final anyway
	}
	var highest uint64       // head of who says the same, and is not deep enough
	var majority common.Hash // what two others say
	others := make(map[common.Hash]bool)
	ask := func(ctx context.Context, e *rpc.Endpoint) error {
		said, err := l.opinion(ctx, e, src.Block+wanted-1)
		deep := err == nil && said.head+1 >= said.block+need
		switch {
		case err != nil:
			return err
		case said.digest == src.digest && said.head+1 >= said.block+wanted:
			return nil
		case said.digest == src.digest:
			highest = max(highest, said.head, src.Block)
			return errShallow
		case said.digest == (common.Hash{}) && said.head < src.Block:
			return errUnknown // it is not there yet
		}
		src.contradicted = true
		if others[said.digest] && deep {
			majority = said.digest
			return nil
		}
		others[said.digest] = deep && said.digest != (common.Hash{})
		return errDiffers
	}
	err := l.tracker.chains.AskAnother(ctx, network, rpc.Tracking, &l.tried, ask)
	overruled := false
	if err == nil && majority != (common.Hash{}) {
		overruled = l.overrule(ctx, majority)
	}
	switch {
	case err == nil && majority == (common.Hash{}):
		src.agreed = true
		src.contradicted = false
	case overruled:
	case !deepSource && !src.contradicted && l.unknown == 0 && l.transaction == nil:
		// it is told as what it is, not final
	default:
		l.passing = true
		l.object(src)
		if highest > 0 {
			src.doubt = disagree(network)
			src.Confirmations = highest - src.Block + 1
		}
	}
}

// opinion is what another endpoint says of the source.
type opinion struct {
	digest common.Hash // zero if it has no receipt
	block  uint64
	head   uint64
}

// opinion asks an endpoint in one round trip. Its head is read unless it is known to be
// at that block at least.
func (l *lookup) opinion(ctx context.Context, e *rpc.Endpoint, deep uint64) (said opinion, err error) {
	var receipt *rpc.Receipt
	hash := common.Hash(l.key.Name)
	head, err := l.tracker.readWithHead(ctx, e, deep, rpc.ReadReceipt(hash, &receipt))
	if err != nil {
		return said, err
	}
	said.head = uint64(head.Number)
	if receipt == nil {
		return said, nil
	}
	if err := checkReceipt(receipt, hash); err != nil {
		return said, err
	}
	said.digest = l.digest(receipt)
	said.block = uint64(receipt.BlockNumber)
	return said, nil
}

// readWithHead makes reads together with that of the latest block, unless the endpoint
// is known to have that block and not to stand still. It fails if it stands still.
func (t *Tracker) readWithHead(
	ctx context.Context, e *rpc.Endpoint, block uint64, reads ...rpc.Read,
) (*rpc.Block, error) {
	head := t.known(e).latest
	ask := head == nil || uint64(head.Number) < block || head.TooOld(e.Network, t.Now())
	if ask {
		head = nil
		reads = append(reads, rpc.ReadLatest(&head))
	}
	if err := e.ReadAll(ctx, reads...); err != nil {
		return nil, err
	}
	if head == nil {
		return nil, garbled("it has no latest block")
	}
	if ask {
		t.remember(e, head)
	}
	if head.TooOld(e.Network, t.Now()) {
		return nil, errBehind
	}
	return head, nil
}

// overrule reads the source from one of two endpoints that say the same, and something
// else than the endpoint it was read from.
func (l *lookup) overrule(ctx context.Context, digest common.Hash) bool {
	first := l.source
	l.tried = rpc.Asked{}
	l.tried.Add(first.from)
	l.source = nil
	read := func(ctx context.Context, e *rpc.Endpoint) error {
		if err := l.readFrom(ctx, e); err != nil {
			return err
		}
		if l.source.digest != digest {
			return errDiffers
		}
		return nil
	}
	err := l.tracker.chains.AskAnother(ctx, l.key.Network, rpc.Tracking, &l.tried, read)
	if err != nil {
		l.source = first
		return false
	}
	l.source.agreed = true
	return true
}

// stands tells whether the block of a source that was confirmed by an earlier look-up
// is still part of the chain.
func (l *lookup) stands(ctx context.Context) (stands bool, err error) {
	src := l.trail.source
	err = l.tracker.chains.Ask(ctx, l.key.Network, rpc.Tracking, func(ctx context.Context, e *rpc.Endpoint) error {
		var block *rpc.Block
		if err := e.ReadAll(ctx, rpc.ReadBlock(src.Block, &block)); err != nil {
			return err
		}
		if block == nil || uint64(block.Number) != src.Block {
			return &rpc.Failure{Reason: rpc.Declined, Text: "it does not have the block"}
		}
		stands = block.Hash == src.hash
		return nil
	})
	if err == nil {
		l.trail.checked = l.tracker.Now()
	}
	return stands, err
}

// witnessPayouts asks other endpoints for the events that were found, until each was
// shown by two. It says what is in the way of the others.
func (l *lookup) witnessPayouts(ctx context.Context, f *searching, hits []*found) (doubt string) {
	network := f.key.network
	hits = slices.DeleteFunc(hits, func(hit *found) bool { return hit.witnessed })
	if len(hits) == 0 {
		return ""
	}
	if l.tracker.chains.Endpoints(network) < 2 {
		for _, hit := range hits {
			hit.witnessed = true
		}
		return ""
	}
	differs := false
	err := l.tracker.chains.Ask(ctx, network, rpc.Tracking, func(ctx context.Context, e *rpc.Endpoint) error {
		missing, err := l.askForPayouts(ctx, e, f, hits)
		if err != nil {
			return err
		}
		if missing {
			differs = true
			return errDiffers
		}
		return nil
	})
	switch {
	case err == nil:
		return ""
	case differs:
		doubt = disagree(network)
	default:
		doubt = alone(network)
	}
	l.passing = true
	return doubt
}

// askForPayouts asks an endpoint in one round trip for the events that another has
// shown. missing is true if one of them still needs a witness.
func (l *lookup) askForPayouts(
	ctx context.Context, e *rpc.Endpoint, f *searching, hits []*found,
) (missing bool, err error) {
	var blocks []uint64
	deep := uint64(0) // the block that makes all of them deep
	for _, hit := range hits {
		n := uint64(hit.log.BlockNumber)
		if !hit.witnessed && hit.place != e.Place && !slices.Contains(blocks, n) {
			blocks = append(blocks, n)
			deep = max(deep, n+l.tracker.deployment.Confirmations(f.key.network)-1)
		}
	}
	if len(blocks) == 0 {
		return false, errItself
	}
	shown := make([][]rpc.Log, len(blocks))
	reads := make([]rpc.Read, len(blocks))
	for i, n := range blocks {
		reads[i] = rpc.ReadLogs(f.contracts, f.topics(), n, n, &shown[i])
	}
	head, err := l.tracker.readWithHead(ctx, e, deep, reads...)
	if err != nil {
		return false, err
	}
	logs := slices.Concat(shown...)
	for _, hit := range hits {
		same := func(log rpc.Log) bool { return sameLog(&log, &hit.log) }
		if hit.place != e.Place && l.deep(f.key.network, head, hit) && slices.ContainsFunc(logs, same) {
			hit.witnessed = true
		}
		missing = missing || !hit.witnessed
	}
	return missing, nil
}

func sameLog(a, b *rpc.Log) bool {
	return a.Address == b.Address && slices.Equal(a.Topics, b.Topics) && bytes.Equal(a.Data, b.Data) &&
		a.TxHash == b.TxHash && a.BlockHash == b.BlockHash && a.BlockNumber == b.BlockNumber && !a.Removed
}

// isSwap tells whether the transaction has swapped something.
func (s *source) isSwap() bool { return !s.failed && len(s.orders) > 0 }
