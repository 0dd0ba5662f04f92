package calldata

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

const approveSelector = "\x09\x5e\xa7\xb3"

// Approve is ERC-20's approve(address spender, uint256 amount).
func Approve(spender common.Address, amount *uint256.Int) []byte {
	b := make([]byte, 0, len(approveSelector)+2*word)
	b = append(b, approveSelector...)
	b = appendAddress(b, spender)
	return appendUint(b, amount)
}
