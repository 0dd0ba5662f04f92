package calldata

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

const (
	approveSelector   = "\x09\x5e\xa7\xb3"
	balanceOfSelector = "\x70\xa0\x82\x31"
	allowanceSelector = "\xdd\x62\xed\x3e"
)

// Approve is ERC-20's approve(address spender, uint256 amount).
func Approve(spender common.Address, amount *uint256.Int) []byte {
	b := make([]byte, 0, len(approveSelector)+2*word)
	b = append(b, approveSelector...)
	b = appendAddress(b, spender)
	return appendUint(b, amount)
}

// BalanceOf is ERC-20's balanceOf(address owner).
func BalanceOf(owner common.Address) []byte {
	return appendAddress([]byte(balanceOfSelector), owner)
}

// Allowance is ERC-20's allowance(address owner, address spender).
func Allowance(owner, spender common.Address) []byte {
	return appendAddress(appendAddress([]byte(allowanceSelector), owner), spender)
}
