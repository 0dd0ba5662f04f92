// Package integrator tells whether a partner named in a request is registered
// and active on a chain, and which fee it takes there. It reads the chain's
// registry contract over JSON-RPC.
//
// What it promises:
//   - A fee is what the registry of that very chain said, at most the
//     configured time ago. If no endpoint answers, or the answer is not one a
//     registry gives, the look-up fails. A fee is never guessed.
//   - Answers are cached, failures are not. Look-ups of one integrator at the
//     same time share one call. A look-up that gives up does not end the call
//     for the others.
//   - An integrator in use is asked for again ahead of the end of its answer, in
//     the background, so that no quote is made with an answer about to end.
//   - Invented IDs neither evict nor delay a partner: they have a cache and a
//     lane for calls of their own, and their failed calls rest no endpoint for
//     partners.
//   - No text from an RPC endpoint, and no part of its address, is in any error or
//     health report. See package rpc.
package integrator

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// ID names an integrator: the address of its wallet, left-padded with zeros.
// The zero ID means no integrator.
type ID [32]byte

// padding is how many leading bytes of every ID are zero.
const padding = len(ID{}) - common.AddressLength

// Partner is a registered, active integrator as its chain knows it.
type Partner struct {
	ID        ID
	Wallet    chain.Address // always the one the ID is made of
	FeeBPS    uint16        // at most MaxFeeBPS
	CheckedAt time.Time     // when the registry was asked
	GoodUntil time.Time     // until when a quote with it is vouched for: at least half of a quote's time after the answer is out of use
}

// Config says how long registrations are cached.
type Config struct {
	// CacheSize is how many active integrators are cached, and how many others
	// in addition.
	CacheSize int           `env:"INTEGRATOR_CACHE_SIZE, default=4096"`
	CacheTTL  time.Duration `env:"INTEGRATOR_CACHE_TTL, default=30s"`
}

const (
	maxCacheSize = 1 << 20
	maxCacheTTL  = time.Hour
)

// Validate reports every problem, naming the variable.
func (c Config) Validate() error {
	var problems []error
	if c.CacheSize < 1 || c.CacheSize > maxCacheSize {
		problems = append(problems, fmt.Errorf("INTEGRATOR_CACHE_SIZE: %d is not between 1 and %d", c.CacheSize, maxCacheSize))
	}
	if c.CacheTTL <= 0 || c.CacheTTL > maxCacheTTL {
		problems = append(problems, fmt.Errorf("INTEGRATOR_CACHE_TTL: %v is not more than 0s and at most %v", c.CacheTTL, maxCacheTTL))
	}
	return errors.Join(problems...)
}

// ParseID reads an integrator from a request: a wallet address, or its 32-byte
// form. Both give the same ID.
func ParseID(text string) (ID, error) {
	const (
		shortLen = 2 + 2*common.AddressLength
		longLen  = 2 + 2*len(ID{})
	)
	subject, digits := "The integrator ID", text
	if len(text) == longLen && text[:2] == "0x" {
		var word ID
		if _, err := hex.Decode(word[:], []byte(text[2:])); err != nil {
			return ID{}, invalid("The integrator ID has characters that are not hexadecimal digits")
		}
		if !zero(word[:padding]) {
			return ID{}, invalid("The integrator ID is not the 32-byte form of an address: its first 12 bytes must be zero")
		}
		subject, digits = "The address within the integrator ID", "0x"+text[2+2*padding:]
	}
	if len(digits) != shortLen {
		return ID{}, invalid("The integrator ID must be a wallet address (0x and 40 hexadecimal digits) or its 32-byte form (0x and 64, of which the first 24 are zeros)")
	}
	wallet, err := chain.ParseAddress(digits)
	if err != nil {
		return ID{}, invalid("%s %v", subject, err)
	}
	if wallet == (common.Address{}) {
		return ID{}, invalid("The integrator ID is zero: name a registered wallet, or leave the parameter out")
	}
	return idOf(wallet), nil
}

func invalid(format string, args ...any) error {
	return fault.New(fault.InvalidIntegrator, format, args...)
}

func idOf(wallet common.Address) (id ID) {
	copy(id[padding:], wallet[:])
	return id
}

// String is the canonical form: 0x and 64 digits.
func (id ID) String() string { return "0x" + hex.EncodeToString(id[:]) }

func zero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
