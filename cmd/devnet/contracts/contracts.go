// Package contracts holds the reference contracts: small Solidity models of the contracts that a quote's transactions
// reach, compiled by `make contracts`. They have no constructors: each function here gives one contract as an account
// of a genesis, so that it stands at whatever address a deployment names, configured, from block zero.
//
// What a contract models, and what it leaves out, is said at the top of its source.
package contracts

import (
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Native is the address by which a Pool means the coin of its chain.
var Native = common.HexToAddress("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")

var (
	registry        = load("IntegratorRegistry")
	pool            = load("Pool")
	railgun         = load("Railgun")
	token           = load("Token")
	tetherLikeToken = load("TetherLikeToken")
	tokenMessenger  = load("TokenMessengerV2")
	transmitter     = load("MessageTransmitterV2")
	receiver        = load("Receiver")
)

// The interfaces of the contracts.
var (
	RegistryABI        = registry.ABI
	PoolABI            = pool.ABI
	RailgunABI         = railgun.ABI
	TokenABI           = token.ABI
	TetherLikeTokenABI = tetherLikeToken.ABI
	TokenMessengerABI  = tokenMessenger.ABI
	TransmitterABI     = transmitter.ABI
	ReceiverABI        = receiver.ABI
)

// An Integrator is one entry of a Registry.
type Integrator struct {
	Wallet common.Address
	FeeBPS uint16
	Active bool
}

// Registry is an IntegratorRegistry with these integrators in it, where operator may register more and change them.
func Registry(operator common.Address, integrators ...Integrator) types.Account {
	account := registry.account(map[string][]byte{"operator": operator[:]})
	for _, i := range integrators {
		var word common.Hash // of the packed struct, from the right: wallet, feeBps, active
		copy(word[12:], i.Wallet[:])
		binary.BigEndian.PutUint16(word[10:], i.FeeBPS)
		if i.Active {
			word[9] = 1
		}
		account.Storage[registry.entry("integrators", IntegratorID(i.Wallet))] = word
	}
	return account
}

// IntegratorID is a wallet's name in every registry: its address, left-padded.
func IntegratorID(wallet common.Address) common.Hash { return common.BytesToHash(wallet[:]) }

// Pool takes one token, which may be Native, and is settled by operator. Protocol fees go to treasury; railgun is where
// it shields, and may be zero.
func Pool(operator, token, treasury, railgun common.Address) types.Account {
	return pool.account(map[string][]byte{
		"operator": operator[:],
		"token":    token[:],
		"treasury": treasury[:],
		"railgun":  railgun[:],
	})
}

// SettlementPool is a Pool that can also pay on chains that have none, by burning on messenger.
func SettlementPool(operator, token, treasury, railgun, messenger common.Address) types.Account {
	account := Pool(operator, token, treasury, railgun)
	account.Storage[pool.variable("messenger").slot()] = common.BytesToHash(messenger[:])
	return account
}

// A Settlement is the argument of a Pool's settle and settleOnward, and of its Settled event. Source, SrcPool and Nonce
// say what is settled, and give the id.
type Settlement struct {
	Source        *big.Int       // the chain ID of SrcPool; of a burn, the issuer's domain
	SrcPool       common.Address // zero for a burn
	Nonce         *big.Int
	Token         common.Address
	Amount        *big.Int
	Recipient     []byte
	RecipientType uint8
	ProtocolFee   *big.Int
	Integrator    common.Address
	IntegratorFee *big.Int
}

// Railgun pays its shielding fee to treasury.
func Railgun(treasury common.Address) types.Account {
	return railgun.account(map[string][]byte{"treasury": treasury[:]})
}

// A ShieldNote, with its ShieldToken, and a ShieldCiphertext are what Railgun's Shield event lists of each note.
type ShieldNote struct {
	Npk   [32]byte
	Token ShieldToken
	Value *big.Int
}

type ShieldToken struct {
	TokenType    uint8
	TokenAddress common.Address
	TokenSubID   *big.Int
}

type ShieldCiphertext struct {
	EncryptedBundle [3][32]byte
	ShieldKey       [32]byte
}

// Token is a standard ERC-20. The operator mints it at will, and so may the minters. The symbol has at most 31 bytes.
func Token(operator common.Address, symbol string, decimals uint8, minters ...common.Address) types.Account {
	account := ledger(token, operator, symbol, decimals)
	for _, minter := range minters {
		account.Storage[token.entry("minters", common.BytesToHash(minter[:]))] = yes
	}
	return account
}

// TetherLikeToken is Token with the manners of USDT on Ethereum.
func TetherLikeToken(operator common.Address, symbol string, decimals uint8) types.Account {
	return ledger(tetherLikeToken, operator, symbol, decimals)
}

func ledger(a artifact, operator common.Address, symbol string, decimals uint8) types.Account {
	var text common.Hash // of a short string: from the left, and twice its length in the last byte
	copy(text[:], symbol)
	text[len(text)-1] = byte(2 * len(symbol))
	return a.account(map[string][]byte{
		"operator": operator[:],
		"symbol":   text[:],
		"decimals": {decimals},
	})
}

// Give puts tokens into a Token or a TetherLikeToken from block zero on.
func Give(ledger types.Account, holder common.Address, amount *big.Int) {
	supply := token.variable("totalSupply").slot()
	before := ledger.Storage[supply].Big()
	ledger.Storage[supply] = common.BigToHash(before.Add(before, amount))
	ledger.Storage[token.entry("balanceOf", common.BytesToHash(holder[:]))] = common.BigToHash(amount)
}

// TokenMessenger is a TokenMessengerV2 of the given domain, burning one token for minting on the remote domains.
func TokenMessenger(domain uint32, token common.Address, remotes ...uint32) types.Account {
	account := tokenMessenger.account(map[string][]byte{
		"token":       token[:],
		"localDomain": binary.BigEndian.AppendUint32(nil, domain),
	})
	for _, remote := range remotes {
		key := common.BigToHash(new(big.Int).SetUint64(uint64(remote)))
		account.Storage[tokenMessenger.entry("remoteDomains", key)] = yes
	}
	return account
}

// Receiver takes messages that attester signed and that are meant for the given domain. It must be among the minters of
// token.
func Receiver(attester, token common.Address, domain uint32) types.Account {
	return attested(receiver, attester, token, domain)
}

// Transmitter is a MessageTransmitterV2 of the given domain, which takes messages that attester signed. It must be
// among the minters of token.
func Transmitter(attester, token common.Address, domain uint32) types.Account {
	return attested(transmitter, attester, token, domain)
}

func attested(a artifact, attester, token common.Address, domain uint32) types.Account {
	return a.account(map[string][]byte{
		"attester":    attester[:],
		"token":       token[:],
		"localDomain": binary.BigEndian.AppendUint32(nil, domain),
	})
}

// yes is true, as the value of a mapping.
var yes = common.BigToHash(big.NewInt(1))
