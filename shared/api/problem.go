package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

// problem is the error body of all versions. A version with a different body defines its own.
type problem struct {
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

// MapFault is the version.Module.MapFault of all versions.
func MapFault(e *fault.Error, requestID string) (int, any) {
	p := problem{
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
	fault.UsageUnavailable:       http.StatusServiceUnavailable,
	fault.NotFound:               http.StatusNotFound,
	fault.MethodNotAllowed:       http.StatusMethodNotAllowed,
	fault.VersionBrownout:        http.StatusGone,
	fault.VersionRetired:         http.StatusGone,
	fault.UnknownKey:             http.StatusUnauthorized,
	fault.RateLimited:            http.StatusTooManyRequests,
	fault.Internal:               http.StatusInternalServerError,
}
