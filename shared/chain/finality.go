package chain

import (
	"cmp"
	"time"
)

const (
	finalTime         = 30 * time.Second
	mostConfirmations = 10_000 // that a deployment can demand
)

// Confirmations is how many blocks make a transaction on a network final. The
// block of the transaction is the first.
func (d *Deployment) Confirmations(network ID) uint64 {
	if n, ok := FindNetwork(network); ok {
		return cmp.Or(d.confirmations[network], n.Confirmations)
	}
	return uint64(finalTime / unknownBlock)
}

// unknownBlock is the block time of a network that is not in the table: that of the fastest.
const unknownBlock = 100 * time.Millisecond

// FastestBlock is the shortest time between two blocks of a network.
func (id ID) FastestBlock() time.Duration {
	if n, ok := FindNetwork(id); ok {
		return n.Block
	}
	return unknownBlock
}
