// Package wire holds what the formats of all versions have in common: the query and
// its parameters, a token, an approval, a call, an error. What differs is in the
// package of each version.
package wire

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
)

type Quoter interface {
	Quote(context.Context, *quote.Request) (*quote.Quote, error)
}

// Quotes answers the quote requests of a version.
type Quotes struct {
	Deployment *chain.Deployment
	Quoter     Quoter
	// Params are the parameters that Read gets to see. The others are ignored, and a
	// header names them.
	Params []string
	Read   func(*chain.Deployment, *Query) (quote.Request, error)
	// Warn says why a quote must not be signed, or nothing. It may be nil.
	Warn func(*Query, quote.Recipient) string
	Map  func(*quote.Quote) *Body
}

// Decode is the web.Module.Decode of the version.
func (v Quotes) Decode(r *http.Request) (quote.Request, error) {
	return v.Read(v.Deployment, QueryOf(r).Only(v.Params))
}

func (v Quotes) Handle(w http.ResponseWriter, r *http.Request) error {
	query := QueryOf(r).Only(v.Params)
	query.Warn(w.Header())
	req, err := v.Read(v.Deployment, query)
	if err != nil {
		return err
	}
	q, err := v.Quoter.Quote(r.Context(), &req)
	if err != nil {
		return err
	}
	if warning := v.warning(query, &req, q); warning != "" {
		w.Header().Set(QuoteWarning, warning)
	}
	return v.Map(q).Send(w)
}

// warning says why a quote must not be signed. It is empty if the quote may be.
func (v Quotes) warning(query *Query, req *quote.Request, q *quote.Quote) string {
	const unsignable = "This quote must not be signed: "
	var reasons []string
	if reason := v.Deployment.Unsignable(); reason != "" {
		reasons = append(reasons, unsignable+reason)
	} else if c := q.Missing; c != nil {
		reasons = append(reasons, fmt.Sprintf(unsignable+"chain %s has no contract at %s", c.Network, c.Address))
	}
	if v.Warn != nil {
		if reason := v.Warn(query, req.Recipient); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return strings.Join(reasons, "; ")
}

// Problem is the error body of all versions. A version with a different one
// would define it in its own package.
type Problem struct {
	Error     string       `json:"error"`
	Code      fault.Code   `json:"code"`
	RequestID string       `json:"requestId"`
	Param     string       `json:"param,omitempty"`
	Reason    fault.Reason `json:"reason,omitempty"`
	MinAmount string       `json:"minAmount,omitempty"`
	MaxAmount string       `json:"maxAmount,omitempty"`
	Successor string       `json:"successor,omitempty"`
	Until     *time.Time   `json:"until,omitempty"`

	Alternatives []alternative `json:"alternatives,omitempty"`
}

// alternative is a destination that would be supported.
type alternative struct {
	DstChain string `json:"dstChain"`
	DstToken string `json:"dstToken"`
}

// MapFault is the web.Module.MapFault of all versions.
func MapFault(e *fault.Error, requestID string) (int, any) {
	p := Problem{
		Error: e.Message, Code: e.Code, RequestID: requestID, Param: Param(e), Reason: e.Reason,
		MinAmount: e.MinAmount, MaxAmount: e.MaxAmount, Successor: e.Successor,
	}
	if !e.Until.IsZero() {
		until := e.Until.UTC()
		p.Until = &until
	}
	var offers []string
	for _, a := range e.Alternatives {
		p.Alternatives = append(p.Alternatives, alternative{a.Chain, a.Token})
		offers = append(offers, a.Token+" on "+a.Chain)
	}
	if offers != nil {
		p.Error += "; from there it can go to " + strings.Join(offers, ", ")
	}
	return statuses[e.Code], p
}

var statuses = map[fault.Code]int{
	fault.MissingParameter:       http.StatusBadRequest,
	fault.InvalidParameter:       http.StatusBadRequest,
	fault.InvalidAmount:          http.StatusBadRequest,
	fault.AmountOutOfRange:       http.StatusBadRequest,
	fault.UnsupportedChain:       http.StatusBadRequest,
	fault.UnsupportedToken:       http.StatusBadRequest,
	fault.UnsupportedPair:        http.StatusBadRequest,
	fault.InvalidRecipient:       http.StatusBadRequest,
	fault.InvalidIntegrator:      http.StatusBadRequest,
	fault.IntegratorUnregistered: http.StatusBadRequest,
	fault.IntegratorInactive:     http.StatusBadRequest,
	fault.IntegratorFeeTooHigh:   http.StatusBadRequest,
	fault.IntegratorUnverified:   http.StatusServiceUnavailable,
	fault.IssuerFeeTooHigh:       http.StatusServiceUnavailable,
	fault.StatusUnavailable:      http.StatusNotImplemented,
	fault.ChainUnavailable:       http.StatusServiceUnavailable,
	fault.NotFound:               http.StatusNotFound,
	fault.MethodNotAllowed:       http.StatusMethodNotAllowed,
	fault.VersionBrownout:        http.StatusGone,
	fault.VersionRetired:         http.StatusGone,
	fault.UnknownKey:             http.StatusUnauthorized,
	fault.RateLimited:            http.StatusTooManyRequests,
	fault.Internal:               http.StatusInternalServerError,
}
