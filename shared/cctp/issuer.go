// Package cctp asks the issuer of USDC what a burn over its network costs, and about the
// attestation of a burn.
//
// A rate is always given at once, from memory. Rates are refreshed every minute in the
// background. When the service fails or returns nonsense, the last good rate is used;
// after a day, the higher of it and the built-in table. A maxFee that is too low fails
// the burn, one that is too high costs nothing, so the higher value is the safe one. A
// rate below a quarter of the table's, or above 100 basis points, is nonsense; if only 0
// is left, the source is not quoted.
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

// Config says where the issuer's fee service is.
type Config struct {
	// FeeURL is the base address of the fee service. Without one, the
	// built-in table is all there is.
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
	renewal  = time.Minute     // between two lookups of a source
	patience = 5 * time.Second // how long Warm waits
	fresh    = 5 * time.Minute // younger than this, a rate is live
	keep     = 24 * time.Hour  // younger than this, the last good rate counts alone
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

// New gives rates for burns that are minted on the settlement chain, and
// starts to look them up. Requests go through transport, or through one of its
// own if that is nil. Close ends the lookups.
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
			const what = "looking an issuer fee up"
			i.work.Go(i.log, what, func() { // now, and again and again until Close
				safego.Do(i.log, what, func() { i.renew(s) })
				close(s.tried)
				safego.Every(i.ctx, renewal, i.log, what, func() { i.renew(s) })
			})
		}
	}
	return i, nil
}

// Close ends the lookups and waits until they have ended. Rates are given as
// before.
func (i *Issuer) Close() {
	i.stop()
	i.work.Wait()
	if i.client != nil {
		i.client.http.CloseIdleConnections() // and abandoned attempts to connect
	}
}

// Warm waits until every source was looked up once, with success or without,
// but five seconds at most. Called before the first quote, it keeps quotes of a
// healthy service off the built-in table.
func (i *Issuer) Warm(ctx context.Context) {
	if i.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, s := range i.sources {
		select {
		case <-s.tried:
		case <-ctx.Done():
			return
		}
	}
}

// Of is the fee of burns on a source chain. For a chain that is not the source
// of a burn it has the highest rate there is, which is safe.
func (i *Issuer) Of(source chain.ID) fee.IssuerFee {
	for _, s := range i.sources {
		if s.chain == source {
			return s.state(time.Now())
		}
	}
	return fee.IssuerFee{Source: source, Rate: fee.HighestRate, Origin: fee.BuiltIn}
}

// State is what each source serves now, by chain.
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
	logged fee.Origin             // what the log last said; used by the lookups alone
}

// result is what the lookups of a source have come to.
type result struct {
	good    fee.Rate
	goodAt  time.Time // zero: never
	err     error     // of the last lookup
	tooHigh bool      // the last fee that the service told is not believed
}

// state chooses the rate that protects the user most.
func (s *source) state(now time.Time) fee.IssuerFee {
	known := s.known.Load()
	state := fee.IssuerFee{Source: s.chain, Rate: s.builtIn, Origin: fee.BuiltIn, Err: known.err}
	age := now.Sub(known.goodAt)
	if !known.goodAt.IsZero() && (age < keep || s.builtIn.Cmp(known.good) <= 0) {
		state.Rate = known.good
		state.Origin = fee.LastGood
		state.Age = age
		if age < fresh {
			state.Origin = fee.Live
		}
	}
	state.TooHigh = known.tooHigh && state.Rate == fee.Rate{}
	return state
}

// renew looks a source up, and logs when it begins to serve from another
// origin.
func (i *Issuer) renew(s *source) {
	rate, err := i.client.rate(i.ctx, s.domain, s.builtIn)
	if i.ctx.Err() != nil {
		return // closing is no failure
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
