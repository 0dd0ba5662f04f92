package quote

import (
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/railgun"
)

// Recipient receives the money: an EVM account, or the owner of a 0zk address.
type Recipient struct {
	EVM     common.Address
	Private *railgun.Address // nil for an account
}

func (r Recipient) Zero() bool { return r == Recipient{} }

func (r Recipient) same(other Recipient) bool {
	if r.Private == nil || other.Private == nil {
		return r == other
	}
	return r.EVM == other.EVM && r.Private.Equal(*other.Private)
}

// RecipientType is what a caller says its recipient is.
type RecipientType uint8

const (
	AnyRecipient     RecipientType = calldata.RecipientEVM // a 0zk address is private whatever the type
	PrivateRecipient RecipientType = calldata.RecipientPrivate
)

// ParseRecipientType reads the number of a type from a request.
func ParseRecipientType(text string) (RecipientType, error) {
	switch text {
	case "0":
		return AnyRecipient, nil
	case "2":
		return PrivateRecipient, nil
	}
	return 0, fault.New(fault.InvalidParameter,
		"The recipientType must be 0, for an EVM address, or 2, for a 0zk… address")
}

// Parse reads a recipient of this type: an EVM address or a raw 0zk address. It accepts
// the zero address, for callers that may ask before they know the recipient.
func (t RecipientType) Parse(text string) (Recipient, error) {
	if railgun.LooksLikeAddress(text) {
		address, err := railgun.ParseAddress(text)
		if err != nil {
			return Recipient{}, err
		}
		return Recipient{Private: &address}, nil
	}
	if strings.TrimSpace(text) != text {
		return Recipient{}, fault.BadRecipient(fault.Malformed,
			"The recipient has a leading or trailing space: send the address alone")
	}
	address, err := chain.ParseAddress(text)
	switch {
	case err != nil && strings.Contains(text, "."):
		return Recipient{}, fault.BadRecipient(fault.Name,
			"The recipient looks like a name, and names are not resolved: send the 0x… address")
	case errors.Is(err, chain.ErrChecksum):
		return Recipient{}, fault.BadRecipient(fault.Checksum, "The recipient %v", err)
	case err != nil:
		return Recipient{}, fault.BadRecipient(fault.Malformed, "The recipient %v", err)
	}
	if t == PrivateRecipient {
		return Recipient{}, fault.BadRecipient(fault.PublicOnPrivate,
			"A recipient of type 2 must be a raw 0zk… address; an EVM address is type 0")
	}
	return Recipient{EVM: address}, nil
}

// payableOn checks that a recipient can be paid at a destination.
func (r Recipient) payableOn(dst chain.ID) error {
	var err error
	switch {
	case dst.Private() && r.Private == nil:
		err = fault.BadRecipient(fault.PublicOnPrivate,
			"Chain %s is a privacy pool: the recipient must be a raw 0zk… address", dst)
	case dst.Private():
		err = r.Private.PayableOn(uint64(dst.Network()))
	case r.Private != nil:
		err = fault.BadRecipient(fault.PrivateOnPublic,
			"Chain %s is public: the recipient must be an EVM address, not a 0zk… address", dst)
	}
	return fault.About(fault.Recipient, err)
}

// canOwn makes sure that an account could move what it is paid. The zero address
// passes: it says that nobody was named yet.
func (r Recipient) canOwn(d *chain.Deployment) error {
	if r.Private != nil || r.Zero() {
		return nil
	}
	reason, what := d.Unpayable(r.EVM, chain.AnyChain)
	if reason == "" {
		return nil
	}
	return fault.About(fault.Recipient, fault.BadRecipient(reason,
		"The recipient %s is %s: funds sent there are lost. Send an account address", r.EVM.Hex(), what))
}

// encode gives the bytes that name the recipient in calldata, and their type.
// For a private recipient that is a fresh note, different every time; for an
// account, the bytes are the recipient's own.
func (r *Recipient) encode() ([]byte, uint8, error) {
	if r.Private == nil {
		return r.EVM[:], calldata.RecipientEVM, nil
	}
	note, err := railgun.NewNote(*r.Private)
	if err != nil {
		return nil, 0, err
	}
	return note.Recipient(), calldata.RecipientPrivate, nil
}
