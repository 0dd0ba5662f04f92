// Package cctp knows what a burn over the issuer's network costs, and asks the issuer
// about the attestation of a burn (Fees.Messages).
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
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
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
	renewal  = time.Minute     // between two look-ups of a source
	patience = 5 * time.Second // how long Warm waits
	fresh    = 5 * time.Minute // younger than this, a rate is live
	keep     = 24 * time.Hour  // younger than this, the last good rate counts alone
)

// Fees gives the rates of all sources of one settlement chain. It is safe for
// concurrent use.
type Fees struct {
	client  *client // nil: the built-in table only
	log     *slog.Logger
	sources []*source // by chain

	ctx  context.Context // of the look-ups
	stop context.CancelFunc
	work safego.Group
}

// New gives rates for burns that are minted on the settlement chain, and
// starts to look them up. Requests go through transport, or through one of its
// own if that is nil. Close ends the look-ups.
func New(cfg Config, to chain.Settlement, log *slog.Logger, transport http.RoundTripper) (*Fees, error) {
	base, err := cfg.base()
	if err != nil {
		return nil, err
	}
	f := &Fees{log: log}
	for _, n := range chain.Networks() {
		pair, err := chain.FindPair(n.ID, chain.USDC, chain.Hub, chain.USDC)
		if err != nil || pair.Route != chain.CCTPInbound {
			continue
		}
		s := &source{
			chain: n.ID, domain: n.CCTP.Domain, builtIn: FromMilliBPS(n.CCTP.FastFeeMilliBPS),
			tried: make(chan struct{}), logged: Live,
		}
		s.known.Store(&result{})
		f.sources = append(f.sources, s)
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	if base != nil {
		f.client = newClient(base, to.Domain, transport)
		for _, s := range f.sources {
			const what = "looking an issuer fee up"
			f.work.Go(f.log, what, func() { // now, and again and again until Close
				safego.Do(f.log, what, func() { f.renew(s) })
				close(s.tried)
				safego.Every(f.ctx, renewal, f.log, what, func() { f.renew(s) })
			})
		}
	}
	return f, nil
}

// Close ends the look-ups and waits until they have ended. Rates are given as
// before.
func (f *Fees) Close() {
	f.stop()
	f.work.Wait()
	if f.client != nil {
		f.client.http.CloseIdleConnections() // and abandoned attempts to connect
	}
}

// Warm waits until every source was looked up once, with success or without,
// but five seconds at most. Called before the first quote, it keeps quotes of a
// healthy service off the built-in table.
func (f *Fees) Warm(ctx context.Context) {
	if f.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, s := range f.sources {
		select {
		case <-s.tried:
		case <-ctx.Done():
			return
		}
	}
}

// Of is the fee of burns on a source chain. For a chain that is not the source
// of a burn it has the highest rate there is, which is safe.
func (f *Fees) Of(source chain.ID) State {
	for _, s := range f.sources {
		if s.chain == source {
			return s.state(time.Now())
		}
	}
	return State{Source: source, Rate: highest, Origin: BuiltIn}
}

// State is what each source serves now, by chain.
func (f *Fees) State() []State {
	now := time.Now()
	states := make([]State, len(f.sources))
	for i, s := range f.sources {
		states[i] = s.state(now)
	}
	return states
}

// Origin is where a rate is from.
type Origin string

const (
	Live     Origin = "live"      // the fee service, less than five minutes ago
	LastGood Origin = "last good" // the fee service, earlier
	BuiltIn  Origin = "built-in"  // the table
)

// State is what a source serves.
type State struct {
	Source chain.ID
	Rate   Rate
	Origin Origin
	Age    time.Duration // since the service gave the rate; 0 if it did not
	// TooHigh is set if Rate is 0, but the service has since told a fee above the
	// highest that is believed. A burn with a maxFee of 0 would revert then.
	TooHigh bool
	// Err is why the last look-up gave no rate, in words fit for a public
	// page. It is nil if it did, and where there was none.
	Err error
}

// source is one source chain.
type source struct {
	chain   chain.ID
	domain  uint32
	builtIn Rate

	tried  chan struct{}          // closed after the first look-up
	known  atomic.Pointer[result] // replaced by each look-up, never changed
	logged Origin                 // what the log last said; used by the look-ups alone
}

// result is what the look-ups of a source have come to.
type result struct {
	good   Rate
	goodAt time.Time // zero: never
	err    error     // of the last look-up
	absurd bool      // the last fee that the service told is not believed
}

// state chooses the rate that protects the user most.
func (s *source) state(now time.Time) State {
	known := s.known.Load()
	state := State{Source: s.chain, Rate: s.builtIn, Origin: BuiltIn, Err: known.err}
	age := now.Sub(known.goodAt)
	if !known.goodAt.IsZero() && (age < keep || s.builtIn.nano <= known.good.nano) {
		state.Rate, state.Origin, state.Age = known.good, LastGood, age
		if age < fresh {
			state.Origin = Live
		}
	}
	state.TooHigh = known.absurd && state.Rate.nano == 0
	return state
}

// renew looks a source up, and logs when it begins to serve from another
// origin.
func (f *Fees) renew(s *source) {
	rate, err := f.client.rate(f.ctx, s.domain, s.builtIn)
	if f.ctx.Err() != nil {
		return // closing is no failure
	}
	now := time.Now()
	next := result{good: rate, goodAt: now}
	if err != nil {
		next = *s.known.Load()
		next.err = err
		next.absurd = next.absurd || errors.Is(err, errAbsurd)
	}
	s.known.Store(&next)
	state := s.state(now)
	if state.Origin == s.logged {
		return
	}
	s.logged = state.Origin
	log := f.log.With("source", state.Source.String(), "bps", state.Rate.String())
	if state.Origin == Live {
		log.Info("issuer fee is live again")
		return
	}
	log.Warn("issuer fee is not live",
		"origin", string(state.Origin), "age", state.Age.String(), "reason", err.Error())
}

// Rate is an exact fee rate between 0 and 100 basis points. It cannot hold
// any other, so arithmetic on it has no case that overflows.
type Rate struct {
	nano uint64 // billionths of a basis point
}

const (
	nanoPerBPS = 1_000_000_000
	// absurdBPS is far above every fee the issuer has charged. A fee beyond
	// it is a mistake.
	absurdBPS = 100
)

var (
	highest = Rate{absurdBPS * nanoPerBPS}
	// These complete a sentence, for which the caller has the subject.
	errAbsurd    = fmt.Errorf("is above %d basis points", absurdBPS)
	errNotNumber = errors.New("is not a decimal number such as 1.3")
	errTiny      = errors.New("is not 0, but below a billionth of a basis point")
	// whole is 100 %, in the unit of Rate.
	whole = uint256.NewInt(10_000 * nanoPerBPS)
	// decimal is a number as JSON writes it, but for a sign. What bounds its length and
	// exponent bounds the work of reading it.
	decimal = regexp.MustCompile(`^(0|[1-9][0-9]{0,63})(\.[0-9]{1,63})?([eE][+-]?[0-9]{1,2})?$`)
)

// FromMilliBPS is the rate of that many thousandths of a basis point, or the highest.
func FromMilliBPS(milli uint32) Rate {
	return Rate{min(uint64(milli)*(nanoPerBPS/1000), highest.nano)}
}

// ParseRate reads basis points, written as JSON writes a number. Digits beyond a
// billionth of a basis point round up. The error is errNotNumber, errTiny or errAbsurd.
func ParseRate(text string) (Rate, error) {
	if !decimal.MatchString(text) {
		return Rate{}, errNotNumber
	}
	exact, _ := new(big.Rat).SetString(text)
	exact.Mul(exact, big.NewRat(nanoPerBPS, 1))
	if exact.Sign() > 0 && exact.Cmp(big.NewRat(1, 1)) < 0 {
		return Rate{}, errTiny
	}
	up := new(big.Int).Sub(exact.Denom(), big.NewInt(1))
	nano := up.Div(up.Add(up, exact.Num()), exact.Denom())
	if nano.Cmp(new(big.Int).SetUint64(highest.nano)) > 0 {
		return Rate{}, errAbsurd
	}
	return Rate{nano.Uint64()}, nil
}

// String is the rate in basis points, as the shortest decimal: "1.3".
func (r Rate) String() string { return decimalText(r.nano, 9) }

// Percent is the rate in percent, as the shortest decimal: "0.013".
func (r Rate) Percent() string { return decimalText(r.nano, 11) }

// decimalText is n with its last digits behind a point.
func decimalText(n uint64, places int) string {
	digits := fmt.Sprintf("%0*d", places+1, n)
	point := len(digits) - places
	return strings.TrimRight(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
}

// Estimate is the issuer's fee on amount, rounded up. It is exact for every
// amount there is.
func (r Rate) Estimate(amount *uint256.Int) uint256.Int {
	return scaleUp(amount, uint256.NewInt(r.nano), whole)
}

// MaxFee is what a burn of amount may cost at most: the estimate and a fifth
// of the estimate, rounded up. The messenger reverts a burn whose maxFee is
// not less than its amount, so there is no maxFee for such an amount but an
// error for the caller.
func (r Rate) MaxFee(amount *uint256.Int) (uint256.Int, error) {
	fee := r.Estimate(amount)
	fee = scaleUp(&fee, uint256.NewInt(6), uint256.NewInt(5))
	if !fee.Lt(amount) {
		return uint256.Int{}, fault.New(fault.AmountOutOfRange, "The amount does not cover the issuer's transfer fee, "+
			"which may be up to %s in the source token's smallest unit", fee.Dec())
	}
	return fee, nil
}

// scaleUp is n × by / over, rounded up. The product may have more than 256 bits.
func scaleUp(n, by, over *uint256.Int) (scaled uint256.Int) {
	scaled.MulDivOverflow(n, by, over)
	if rest := new(uint256.Int).MulMod(n, by, over); !rest.IsZero() {
		scaled.AddUint64(&scaled, 1)
	}
	return scaled
}
