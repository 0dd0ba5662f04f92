package referee

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Terms are what others decide about a swap: the fee of its integrator, as its
// registry states it, and the issuer's for a fast transfer.
type Terms struct {
	IntegratorBPS int64
	IssuerBPS     *big.Rat // of a burn
}

// The answers, in the order of their fields.
type (
	bodyV3 struct {
		head
		Fee feeV3 `json:"fee"`
		tail
	}
	bodyLegacy struct {
		head
		Fee feeFlat `json:"fee"`
		tail
	}
	bodyV1 struct {
		head
		Fee    feeFlat `json:"fee"`
		Method method  `json:"methodParameters"`
		Route  routeV1 `json:"route"`
	}
	head struct {
		To         string `json:"to"`
		SrcToken   Token  `json:"srcToken"`
		DestToken  Token  `json:"destToken"`
		SrcAmount  string `json:"srcAmount"`
		DestAmount string `json:"destAmount"`
	}
	tail struct {
		Approval *approval `json:"approval,omitempty"`
		Method   method    `json:"methodParameters"`
		Route    struct {
			Type string `json:"type"`
		} `json:"route"`
	}
	feeV3 struct {
		ChainID    uint64 `json:"chainId"`
		Token      string `json:"token"`
		Protocol   share  `json:"protocol"`
		Integrator share  `json:"integrator"`
		Total      struct {
			Amount string `json:"amount"`
		} `json:"total"`
	}
	share struct {
		Percentage json.Number `json:"percentage"`
		Amount     string      `json:"amount"`
		ID         string      `json:"id,omitempty"`
		Address    string      `json:"address,omitempty"`
	}
	feeFlat struct {
		Percentage json.Number `json:"percentage"`
		Amount     string      `json:"amount"`
		Token      string      `json:"token,omitempty"`
	}
	approval struct {
		Token    string `json:"token"`
		Spender  string `json:"spender"`
		Amount   string `json:"amount"`
		Calldata string `json:"calldata"`
	}
	method struct {
		Calldata string `json:"calldata"`
		Value    string `json:"value"`
	}
	routeV1 struct {
		Paths []string `json:"paths"`
		Swaps []swapV1 `json:"swaps"`
	}
	swapV1 struct {
		Pool string `json:"pool"`
		In   string `json:"in"`
		Out  string `json:"out"`
	}
)

// Body is the answer of a version to a swap. note is what the answer names a
// private recipient by, and is not looked at here.
func (r *Referee) Body(version string, s *Swap, t Terms, note []byte) ([]byte, error) {
	if version != "v3" { // only v3 has integrators
		t.IntegratorBPS = 0
	}
	var id [32]byte
	if version == "v3" && s.Integrator != "" {
		id = [32]byte(common.LeftPadBytes(common.FromHex(s.Integrator), 32))
	}
	bps := s.protocolBPS()
	split := s.Split(t.IntegratorBPS)

	to, err := r.target(s.Pair)
	if err != nil {
		return nil, err
	}
	call, err := r.call(s, t, id, note)
	if err != nil {
		return nil, err
	}
	h := head{to, s.SrcToken, s.DstToken, s.Amount.String(), split.Net.String()}
	m := method{hexutil.Encode(call), "0x0"}
	if s.SrcToken.Address == native {
		m.Value = hexutil.EncodeBig(s.Amount)
	}
	rest := tail{Method: m}
	rest.Route.Type = "DIRECT"
	if s.Burn {
		rest.Route.Type = "CCTP_INBOUND"
	}
	if rest.Approval, err = r.approval(s, to); err != nil {
		return nil, err
	}

	var body any
	switch version {
	case "v3":
		fee := feeV3{ChainID: s.FeeChain(), Token: "destination"}
		fee.Protocol = share{Percentage: percent(bps), Amount: split.Protocol.String()}
		fee.Integrator = share{Percentage: percent(t.IntegratorBPS), Amount: split.Integrator.String()}
		if s.Integrator != "" {
			fee.Integrator.ID, fee.Integrator.Address = hexutil.Encode(id[:]), common.HexToAddress(s.Integrator).Hex()
		}
		fee.Total.Amount = new(big.Int).Add(split.Protocol, split.Integrator).String()
		body = bodyV3{h, fee, rest}
	case "v3legacy":
		body = bodyLegacy{h, feeFlat{percent(bps), split.Protocol.String(), "destination"}, rest}
	case "v1":
		in := part(s.Amount, bps)
		src, dst := s.SrcToken.Address, s.DstToken.Address
		body = bodyV1{h, feeFlat{Percentage: percent(bps), Amount: in.String()}, m,
			routeV1{[]string{src, dst}, []swapV1{{to, src, dst}}}}
	default:
		return nil, fmt.Errorf("there is no version %q", version)
	}
	text, err := json.Marshal(body)
	return append(text, '\n'), err
}

// call encodes the main transaction.
func (r *Referee) call(s *Swap, t Terms, id [32]byte, note []byte) ([]byte, error) {
	recipient, kind := s.recipient(note)
	dst := new(big.Int).SetUint64(s.Dst)
	dstToken := common.HexToAddress(s.DstToken.Address)
	if !s.Burn {
		return r.abi.Pack("swap", dst, s.Amount, recipient, kind, dstToken, id)
	}
	receiver := [32]byte(common.LeftPadBytes(r.deployment.Settlement.Receiver[:], 32))
	hook := slices.Concat(common.LeftPadBytes(dst.Bytes(), 32), dstToken[:], id[:], []byte{kind}, recipient)
	return r.abi.Pack("depositForBurnWithHook", s.Amount, r.Domain(r.deployment.Settlement.ChainID), receiver,
		common.HexToAddress(s.SrcToken.Address), receiver, maxFee(s.Amount, t.IssuerBPS), uint32(1000), hook)
}

func (r *Referee) approval(s *Swap, spender string) (*approval, error) {
	if s.SrcToken.Address == native {
		return nil, nil
	}
	data, err := r.abi.Pack("approve", common.HexToAddress(spender), s.Amount)
	return &approval{s.SrcToken.Address, spender, s.Amount.String(), hexutil.Encode(data)}, err
}

// percent writes basis points as a number of percent.
func percent(bps int64) json.Number {
	text := fmt.Sprintf("%d.%02d", bps/100, bps%100)
	return json.Number(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
}
