package integrator

import (
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

// faultOf is the error that a look-up returns for a failure.
func faultOf(f *rpc.Failure, network chain.ID) error {
	switch f.Reason {
	case rpc.Unconfigured:
		return unverified(f, f.RetryAfter, "Integrators cannot be verified on chain %s: this service has no RPC endpoint for it, and gives no quote without that", network)
	case rpc.Reverted, rpc.Misconfigured:
		return unverified(f, f.RetryAfter, "The registry on chain %s has no valid entry for this integrator, and no quote is given without one", network)
	}
	return unverified(f, f.RetryAfter, "The integrator could not be verified on chain %s just now, and no quote is given without that; try again shortly", network)
}

// unverified makes a new fault each time, because callers add to it.
func unverified(cause error, retryAfter time.Duration, format string, network chain.ID) error {
	e := fault.New(fault.IntegratorUnverified, format, network).Because(cause)
	e.RetryAfter = retryAfter
	return e
}
