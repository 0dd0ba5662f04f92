// Package integrator reads from a chain's registry contract whether a partner is active and
// which fee it charges.
//
// A fee is what the registry returned within the configured time, or the lookup fails: a fee
// is never guessed. With several endpoints, two must agree; see decide. Results are cached,
// failures are not; concurrent lookups share one call, and partners in use are refreshed in
// the background. Unverified IDs have a separate cache and queue, so that invented ones
// neither evict nor delay a partner.
package integrator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"golang.org/x/time/rate"

	"github.com/quotegate/quotegate/shared/cache"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/setting"
)

// Config sizes the cache of registrations.
type Config struct {
	// CacheSize is the number of active integrators in the cache. It has room for a
	// quarter as many others.
	CacheSize int           `env:"INTEGRATOR_CACHE_SIZE, default=4096" min:"1" max:"1048576"`
	CacheTTL  time.Duration `env:"INTEGRATOR_CACHE_TTL, default=30s" min:"1ms" max:"1h"`
}

func (c Config) Validate() error { return setting.Check(c) }

// Registry reads the integrator registries of a deployment. It is safe for
// concurrent use.
type Registry struct {
	deployment *chain.Deployment
	chains     *rpc.Client
	ttl        time.Duration // of a cached answer
	timeout    time.Duration // of a lookup
	validity   time.Duration
	cache      *cache.Cache[key, registration]
	probes     probes
	hooks      Hooks
	log        *slog.Logger
	now        func() time.Time

	differLog rate.Sometimes
	mu        sync.Mutex
	disputes  map[chain.ID]dispute // the last one of each chain, unless it is resolved
}

// key is an integrator in the registry of a network.
type key struct {
	network chain.ID
	id      calldata.IntegratorID
}

// dispute is an integrator about whom the endpoints of a chain disagreed, and when.
type dispute struct {
	about key
	at    time.Time
}

// Options of a Registry.
type Options struct {
	Hooks    Hooks
	Validity time.Duration // of a quote; see quote.Partner
	Log      *slog.Logger  // for bugs, and endpoints that differ
	Now      func() time.Time
}

// Hooks are called during lookups, for metrics. All are required. They are called from many
// goroutines and must be quick.
type Hooks struct {
	// A lookup was answered from the cache, or was not.
	Hit, Miss func(network chain.ID)
	// Reading the registry failed. Called once for all lookups that waited for it.
	Failure func(network chain.ID, reason rpc.Reason)
	// How long reading the registry took, including the time in the queue, even if it failed.
	Latency func(network chain.ID, d time.Duration)
	// Two endpoints gave different answers, whether or not a third decided. It may be called
	// after the lookup, when the last endpoint has answered.
	Differ func(network chain.ID)
}

// New prepares to read the registries of d through the endpoints of chains. Once chains is
// closed, only cached lookups succeed.
func New(cfg Config, d *chain.Deployment, chains *rpc.Client, opts Options) (*Registry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Registry{
		deployment: d,
		chains:     chains,
		ttl:        cfg.CacheTTL,
		timeout:    lookupTimeout,
		cache:      cache.New[key, registration](cfg.CacheSize, opts.Now, "looking up an integrator", opts.Log),
		validity:   opts.Validity,
		hooks:      opts.Hooks,
		log:        opts.Log,
		now:        opts.Now,
		differLog:  rate.Sometimes{Interval: 10 * time.Minute},
		probes:     probes{down: make(map[probed]string)},
		disputes:   make(map[chain.ID]dispute),
	}, nil
}

// lookupTimeout bounds a lookup, including the time in the queue.
const lookupTimeout = 10 * time.Second

// Lookup returns the integrator with that ID from the registry on a network, for a caller.
// The error is a fault: IntegratorUnregistered, IntegratorInactive,
// IntegratorFeeTooHigh, or IntegratorUnverified if no answer came, or none in time.
func (r *Registry) Lookup(
	ctx context.Context, caller netip.Prefix, network chain.ID, id calldata.IntegratorID,
) (quote.Partner, error) {
	k := key{network, id}
	if cached, ok := r.cache.Get(k); ok {
		r.hooks.Hit(network)
		reg := cached.Value
		halfUsed := r.now().Sub(reg.CheckedAt) >= cached.Until.Sub(r.now())
		if halfUsed && reg.accepted() {
			r.cache.Renew(k, cached, func() (cache.Entry[registration], error) { return r.fetch(netip.Prefix{}, k) })
		}
		return reg.result(network)
	}
	r.hooks.Miss(network)
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	read, err := r.cache.Ask(ctx, k, func() (cache.Entry[registration], error) { return r.fetch(caller, k) })
	if err == nil {
		return read.Value.result(network)
	}
	failure, failed := errors.AsType[*rpc.Failure](err)
	switch {
	case failed:
	case ctx.Err() != nil:
		failure = errLate
	default:
		failure = errPanicked
	}
	return quote.Partner{}, faultOf(failure, network)
}

// fetch reads a registration from the chain. It runs once for all concurrent lookups of a key,
// and does not end with a caller. Known partners have a separate queue. The error is a
// *rpc.Failure, which is not cached.
func (r *Registry) fetch(caller netip.Prefix, k key) (entry cache.Entry[registration], err error) {
	if r.deployment.Registry(k.network) == (chain.Address{}) || r.chains.Endpoints(k.network) == 0 {
		r.hooks.Failure(k.network, rpc.Unconfigured)
		return entry, errUnconfigured
	}
	q := rpc.Question{Network: k.network, Queue: rpc.Unverified, Caller: caller}
	if r.cache.Last(k).Known {
		q.Queue = rpc.Partners
	}
	start := r.now()
	v := r.readAll(q, k.id)
	r.hooks.Latency(k.network, r.now().Sub(start))
	r.note(k, v)
	if v.failure != nil {
		r.hooks.Failure(k.network, v.failure.Reason)
		return entry, v.failure
	}
	use := r.ttl
	if v.unconfirmed {
		use = min(use, unconfirmedTTL)
	}
	reg := v.registration
	reg.GoodUntil = reg.CheckedAt.Add(use + r.validity/2)
	return cache.Entry[registration]{Value: reg, Until: reg.CheckedAt.Add(use), Known: reg.accepted()}, nil
}

const (
	// unconfirmedTTL is how long an answer is used that another endpoint should have
	// confirmed.
	unconfirmedTTL = 5 * time.Second

	// disputeFor is how long health reports a disagreement about an integrator that is not
	// looked up again.
	disputeFor = 5 * time.Minute
)

var (
	errUnconfigured = &rpc.Failure{
		Reason: rpc.Unconfigured, Text: "no registry, or no endpoint", RetryAfter: time.Minute,
	}
	errLate     = &rpc.Failure{Reason: rpc.Timeout, Text: "the caller no longer waits", RetryAfter: time.Second}
	errPanicked = &rpc.Failure{Reason: rpc.Undecodable, Text: "the lookup panicked", RetryAfter: time.Minute}
	errDisagree = &rpc.Failure{
		Reason: rpc.Disagree, Text: "endpoints disagree about the integrator", RetryAfter: time.Second,
	}
)

// note records whether the endpoints disagree, for Health.
func (r *Registry) note(k key, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case v.failure == errDisagree:
		r.disputes[k.network] = dispute{k, r.now()}
	case v.failure == nil && r.disputes[k.network].about == k:
		delete(r.disputes, k.network)
	}
}

// disputed reports whether the endpoints of a chain disagree.
func (r *Registry) disputed(network chain.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.disputes[network]
	return ok && r.now().Sub(last.at) < disputeFor
}

// differ reports that endpoints give different answers.
func (r *Registry) differ(k key, readings []reading) {
	r.hooks.Differ(k.network)
	r.differLog.Do(func() {
		r.log.Warn("RPC endpoints disagree about an integrator; without a majority there is no quote",
			"chain", k.network, "integrator", k.id.String(), "answers", fmt.Sprint(byEndpoint(readings)))
	})
}

// Health reports on every chain with a registry, by ID, without calling it. Only lookups of
// integrators count.
func (r *Registry) Health() (report []rpc.Health) {
	for _, id := range chain.PoolChains {
		if r.deployment.Registry(id) == (chain.Address{}) {
			continue
		}
		h := r.chains.Health(id, rpc.Partners, rpc.Unverified)
		if h.State == rpc.Working && r.disputed(id) {
			h.State = rpc.Disagrees
		}
		report = append(report, h)
	}
	return report
}

// Registered reports whether an integrator is active in any registry. It is an error if it is
// in none, and one of them did not answer.
func (r *Registry) Registered(ctx context.Context, text string) (bool, error) {
	id, err := calldata.ParseIntegratorID(text)
	if err != nil {
		return false, err
	}
	var unanswered error
	for _, on := range r.Health() {
		_, err := r.Lookup(ctx, netip.Prefix{}, on.Network, id)
		switch code := fault.From(err).Code; {
		case err == nil || code == fault.IntegratorFeeTooHigh:
			return true, nil
		case code != fault.IntegratorUnregistered && code != fault.IntegratorInactive:
			unanswered = err
		}
	}
	return false, unanswered
}

// maxFeeBPS is the highest fee that is accepted from a registry, 10 %. A higher one is a valid
// answer and no failure: retrying does not help.
const maxFeeBPS = 1000

// registration is what a registry returned for an ID, and when.
type registration struct {
	quote.Partner // without a wallet if it is not registered
	active        bool
}

// result is what a lookup returns for this registration. Each call returns a new fault, because
// callers add to it.
func (reg registration) result(network chain.ID) (quote.Partner, error) {
	switch {
	case reg.accepted():
		return reg.Partner, nil
	case reg.active:
		return quote.Partner{}, fault.New(fault.IntegratorFeeTooHigh,
			"The integrator is registered on chain %s with a fee of %d basis points, "+
				"and this service accepts %d at most", network, reg.FeeBPS, maxFeeBPS)
	case reg.Wallet != chain.Address{}:
		return quote.Partner{}, fault.New(fault.IntegratorInactive,
			"The integrator is registered on chain %s, but is not active there", network)
	default:
		return quote.Partner{}, fault.New(fault.IntegratorUnregistered,
			"The integrator is not registered on chain %s, where the fees of this swap are taken", network)
	}
}

// accepted reports whether the integrator gets quotes.
func (reg registration) accepted() bool { return reg.active && reg.FeeBPS <= maxFeeBPS }

// faultOf is the error that a lookup returns for a failure. Each call returns a new fault,
// because callers add to it.
func faultOf(f *rpc.Failure, network chain.ID) error {
	text := "The integrator could not be verified on chain %s; try again shortly"
	switch f.Reason {
	case rpc.Unconfigured:
		text = "Integrators cannot be verified on chain %s: no RPC endpoint is configured. " +
			"Request a quote without integratorId"
	case rpc.Disagree:
		text = "The nodes of chain %s disagree about the integrator; try again shortly"
	case rpc.Reverted, rpc.Misconfigured:
		text = "The registry on chain %s has no valid entry for this integrator"
	}
	e := fault.New(fault.IntegratorUnverified, text, network).Because(f)
	e.RetryAfter = f.RetryAfter
	return e
}

// selector of getIntegrator(bytes32).
var selector = [4]byte{0xb6, 0x7e, 0xa7, 0x83}

// getIntegrator is the calldata of a lookup.
func getIntegrator(id calldata.IntegratorID) []byte { return append(selector[:], id[:]...) }

// decode decodes (address wallet, uint16 feeBps, bool active). It accepts only canonical
// encoding.
func decode(id calldata.IntegratorID, output []byte) (registration, *rpc.Failure) {
	const (
		word    = 32
		padding = word - common.AddressLength
	)
	undecodable := func(text string) (registration, *rpc.Failure) {
		return registration{}, &rpc.Failure{Reason: rpc.Undecodable, Text: text, RetryAfter: time.Minute}
	}
	if len(output) == 0 {
		return undecodable("no contract at the registry's address")
	}
	if len(output) != 3*word {
		return undecodable("the registry's answer has another length")
	}
	walletWord, feeWord, activeWord := output[:word], output[word:2*word], output[2*word:]
	padded := calldata.IsZero(walletWord[:padding]) &&
		calldata.IsZero(feeWord[:word-2]) && calldata.IsZero(activeWord[:word-1])
	if !padded || activeWord[word-1] > 1 {
		return undecodable("the registry's answer is not (address, uint16, bool)")
	}
	wallet := common.BytesToAddress(walletWord)
	switch {
	case wallet == (common.Address{}):
		return registration{}, nil
	case calldata.IntegratorIDOf(wallet) != id: // the ID is the wallet's address, so an honest registry names no other
		text := fmt.Sprintf("the registry names wallet %s under the ID %s", wallet, id)
		return registration{}, &rpc.Failure{Reason: rpc.Misconfigured, Text: text, RetryAfter: time.Minute}
	}
	fee := binary.BigEndian.Uint16(feeWord[word-2:])
	partner := quote.Partner{ID: id, Wallet: chain.NewAddress(wallet), FeeBPS: fee}
	return registration{partner, activeWord[word-1] == 1}, nil
}

// probeID is an ID that no integrator has: its address is a precompiled contract.
var probeID = calldata.IntegratorIDOf(common.Address{common.AddressLength - 1: 1})

// Probe is the calldata of a lookup that reports whether a contract is a registry.
func Probe() []byte { return getIntegrator(probeID) }

// CheckProbe says why an answer to Probe is not that of a registry.
func CheckProbe(output []byte) error {
	if _, f := decode(probeID, output); f != nil {
		return errors.New(f.Text)
	}
	return nil
}
