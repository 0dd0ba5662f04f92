// Package cctp queries the service of the issuer of USDC: the fees of burns, and their
// attestations.
//
// Rates are served from memory and refreshed every minute in the background. If the service
// fails or returns an implausible rate, the last good rate is used; after a day, the higher
// of that rate and the built-in one. The higher value is the safe one: a burn with too low a
// maxFee fails, and too high a maxFee costs nothing. A rate below a quarter of the built-in
// one, or above 100 basis points, is implausible; if only 0 is left, the source is not quoted.
package cctp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/safego"
)

// Config locates the issuer's fee service.
type Config struct {
	// FeeURL is the base address of the fee service. Without it, all rates are from
	// the built-in table.
	FeeURL string `env:"ISSUER_FEE_URL" setting:"secret"`
}

// Validate names the variable at fault. The address itself is not repeated:
// it may hold a credential.
func (c Config) Validate() error {
	_, err := c.base()
	return err
}

// base is the parsed address, nil where there is none.
func (c Config) base() (*url.URL, error) {
	if c.FeeURL == "" {
		return nil, nil
	}
	u, err := url.Parse(c.FeeURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, errors.New("ISSUER_FEE_URL: must be an absolute http or https address without query or fragment, " +
			"such as https://iris-api.circle.com; leave it empty to use the built-in table")
	}
	return u, nil
}

const (
	refreshEvery = time.Minute     // for each source
	warmTimeout  = 5 * time.Second // how long Warm waits
	liveFor      = 5 * time.Minute // how long a rate counts as live
	lastGoodFor  = 24 * time.Hour  // how long the last good rate is used even if it is below the built-in one
)

// Issuer gives the rates of all sources of one settlement chain, and attestations. It is
// safe for concurrent use.
type Issuer struct {
	client  *client // nil: the built-in table only
	log     *slog.Logger
	sources []*source // by chain

	ctx  context.Context // of the lookups
	stop context.CancelFunc
	work safego.Group
}

// New starts looking up the rates of burns that are minted on the settlement chain. Requests
// use transport, or a default one if that is nil. Close ends the lookups.
func New(cfg Config, to chain.Settlement, log *slog.Logger, transport http.RoundTripper) (*Issuer, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	i := &Issuer{log: log}
	for _, n := range chain.Networks() {
		pair, err := chain.FindPair(n.ID, chain.USDC, chain.Hub, chain.USDC)
		if err != nil || pair.Route != chain.CCTPInbound {
			continue
		}
		s := &source{
			chain: n.ID, domain: n.CCTP.Domain, builtIn: fee.FromMilliBPS(n.CCTP.FastFeeMilliBPS),
			tried: make(chan struct{}), logged: fee.Live,
		}
		s.known.Store(&result{})
		i.sources = append(i.sources, s)
	}
	i.ctx, i.stop = context.WithCancel(context.Background())
	if base != nil {
		i.client = newClient(base, to.Domain, transport)
		for _, s := range i.sources {
			const what = "looking up an issuer fee"
			i.work.Go(i.log, what, func() { // now, and regularly until Close
				safego.Do(i.log, what, func() { i.renew(s) })
				close(s.tried)
				safego.Every(i.ctx, refreshEvery, i.log, what, func() { i.renew(s) })
			})
		}
	}
	return i, nil
}

// Close ends the lookups and waits for them. Rates are still served from memory.
func (i *Issuer) Close() {
	i.stop()
	i.work.Wait()
	if i.client != nil {
		i.client.http.CloseIdleConnections() // and abandoned attempts to connect
	}
}

// Warm waits until every source was looked up once, successfully or not, for five seconds at
// most. Call it before the first quote, so that a healthy service does not quote from the
// built-in table.
func (i *Issuer) Warm(ctx context.Context) {
	if i.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, warmTimeout)
	defer cancel()
	for _, s := range i.sources {
		select {
		case <-s.tried:
		case <-ctx.Done():
			return
		}
	}
}

// Of is the fee of burns on a source chain. For a chain that is no source of burns, it has
// the highest rate, which is safe.
func (i *Issuer) Of(source chain.ID) fee.IssuerFee {
	for _, s := range i.sources {
		if s.chain == source {
			return s.state(time.Now())
		}
	}
	return fee.IssuerFee{Source: source, Rate: fee.HighestRate, Origin: fee.BuiltIn}
}

// State is the current fee of each source, by chain.
func (i *Issuer) State() []fee.IssuerFee {
	now := time.Now()
	states := make([]fee.IssuerFee, len(i.sources))
	for n, s := range i.sources {
		states[n] = s.state(now)
	}
	return states
}

// source is one source chain.
type source struct {
	chain   chain.ID
	domain  uint32
	builtIn fee.Rate

	tried  chan struct{}          // closed after the first lookup
	known  atomic.Pointer[result] // replaced by each lookup, never changed
	logged fee.Origin             // the last one in the log; used by the lookups alone
}

// result is the outcome of a source's lookups so far.
type result struct {
	good    fee.Rate
	goodAt  time.Time // zero: never
	err     error     // of the last lookup
	tooHigh bool      // the service has reported a fee too high to accept since the good rate
}

// state chooses the rate that protects the user most.
func (s *source) state(now time.Time) fee.IssuerFee {
	known := s.known.Load()
	state := fee.IssuerFee{Source: s.chain, Rate: s.builtIn, Origin: fee.BuiltIn, Err: known.err}
	age := now.Sub(known.goodAt)
	if !known.goodAt.IsZero() && (age < lastGoodFor || s.builtIn.Cmp(known.good) <= 0) {
		state.Rate = known.good
		state.Origin = fee.LastGood
		state.Age = age
		if age < liveFor {
			state.Origin = fee.Live
		}
	}
	state.TooHigh = known.tooHigh && state.Rate == fee.Rate{}
	return state
}

// renew looks up a source, and logs when the origin of its rate changes.
func (i *Issuer) renew(s *source) {
	rate, err := i.client.rate(i.ctx, s.domain, s.builtIn)
	if i.ctx.Err() != nil {
		return // closed, which is not a failure
	}
	now := time.Now()
	next := result{good: rate, goodAt: now}
	if err != nil {
		next = *s.known.Load()
		next.err = err
		next.tooHigh = next.tooHigh || errors.Is(err, fee.ErrTooHigh)
	}
	s.known.Store(&next)
	state := s.state(now)
	if state.Origin == s.logged {
		return
	}
	s.logged = state.Origin
	log := i.log.With("source", state.Source.String(), "bps", state.Rate.String())
	if state.Origin == fee.Live {
		log.Info("issuer fee is live again")
		return
	}
	log.Warn("issuer fee is not live",
		"origin", string(state.Origin), "age", state.Age.String(), "reason", err.Error())
}
