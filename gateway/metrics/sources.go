package metrics

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/integrator"
)

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

func newFees(source func() []cctp.State) *collector {
	c := &collector{}
	rate := c.desc("issuer_fee_bps", "Rate of the issuer's fast transfer that quotes use, in basis points, by source chain.", "chain")
	age := c.desc("issuer_fee_age_seconds", "Time since the issuer's service gave the rate. Absent while the built-in table serves.", "chain")
	origin := c.desc("issuer_fee_origin", "1 for where the rate of a source chain is from: live, last_good or built_in.", "chain", "origin")
	failing := c.desc("issuer_fee_failing", "1 while the last look-up of a source chain's rate gave none. A rate that merely aged, because nobody asked for it, is 0.", "chain")
	c.collect = func(send send) {
		for _, s := range source() {
			chain := s.Source.String()
			send(failing, gauge, truth(s.Err != nil), chain)
			bps, _ := strconv.ParseFloat(s.Rate.String(), 64) // a Rate is a decimal number
			send(rate, gauge, bps, chain)
			if s.Origin != cctp.BuiltIn {
				send(age, gauge, s.Age.Seconds(), chain)
			}
			send.oneOf(origin, origins, originLabels[s.Origin], chain)
		}
	}
	return c
}

func newRegistries(source func() []integrator.Health) *collector {
	c := &collector{}
	endpoints := c.desc("integrator_endpoints", "RPC endpoints configured, by chain.", "chain")
	resting := c.desc("integrator_endpoints_resting", "RPC endpoints that are skipped after a failure, by chain.", "chain")
	c.collect = func(send send) {
		for _, h := range source() {
			send(endpoints, gauge, float64(h.Endpoints), h.Network.String())
			send(resting, gauge, float64(h.Resting), h.Network.String())
		}
	}
	return c
}

func newLimiter(source func() Limiter) *collector {
	c := &collector{}
	decisions := c.desc("limiter_decisions_total", "Requests the rate limiter let pass (allowed), refused, or let pass without counting them (uncounted).", "decision")
	backend := c.desc("limiter_backend", "1 for where decisions are made: off, memory, redis, or fallback, which is memory because Redis does not answer.", "backend")
	clients := c.desc("limiter_clients", "Clients held in memory.")
	ceiling := c.desc("limiter_clients_ceiling", "Most clients that memory will hold.")
	c.collect = func(send send) {
		l := source()
		send(decisions, counter, float64(l.Allowed), "allowed")
		send(decisions, counter, float64(l.Refused), "refused")
		send(decisions, counter, float64(l.Uncounted), "uncounted")
		send.oneOf(backend, backends, l.Backend)
		send(clients, gauge, float64(l.Clients))
		send(ceiling, gauge, float64(l.Ceiling))
	}
	return c
}

func newLifecycle(source func() Lifecycle, now func() time.Time) *collector {
	c := &collector{}
	refused := c.desc("lifecycle_plan_refused", "1 while the plan's file is not what is in force, because it is bad or gone.")
	stage := c.desc("version_stage", "1 for where a version stands: active, deprecated, brownout, held or retired.", "version", "stage")
	sunset := c.desc("version_days_to_sunset", "Days until a version's sunset, negative past it. Absent where none is planned.", "version")
	gate := c.desc("version_gate_holds", "1 while a version is too much used for its sunset to take effect. Absent where there is no gate.", "version")
	c.collect = func(send send) {
		l := source()
		send(refused, gauge, truth(l.PlanRefused))
		for _, v := range l.Versions {
			send.oneOf(stage, stages, v.Stage, v.Version)
			if !v.Sunset.IsZero() {
				send(sunset, gauge, v.Sunset.Sub(now()).Hours()/24, v.Version)
			}
			if v.Gate {
				send(gate, gauge, truth(v.GateHolds), v.Version)
			}
		}
	}
	return c
}

func newUsage(source func() []Usage) *collector {
	c := &collector{}
	clients := c.desc("usage_clients", "Distinct clients that a version served within the last hour, day or week, all instances together.", "version", "window")
	calls := c.desc("usage_calls", "Calls that a version served within the last hour, day or week, all instances together.", "version", "window")
	c.collect = func(send send) {
		for _, u := range source() {
			if slices.Contains(spans, u.Window) {
				send(clients, gauge, float64(u.Clients), u.Version, u.Window)
				send(calls, gauge, float64(u.Calls), u.Version, u.Window)
			}
		}
	}
	return c
}

func newUsageNotes(source func() int) *collector {
	c := &collector{}
	notes := c.desc("usage_notes", "Things that the numbers of usage leave out; /admin/usage names them.")
	c.collect = func(send send) { send(notes, gauge, float64(source())) }
	return c
}
