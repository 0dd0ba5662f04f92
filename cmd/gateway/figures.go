package main

import (
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/metrics"
	"github.com/quotegate/quotegate/gateway/survey"
	"github.com/quotegate/quotegate/gateway/usage"
)

// What one part knows, in the words of another.

func limiterFigures(l *limit.Limiter) func() metrics.Limiter {
	return func() metrics.Limiter {
		s := l.Stats()
		return metrics.Limiter{
			Backend: string(s.Backend), Allowed: s.Allowed, Refused: s.Refused, Uncounted: s.Uncounted,
			Clients: s.Clients, Ceiling: s.Ceiling,
		}
	}
}

func lifeFigures(k *lifecycle.Keeper) func() metrics.Lifecycle {
	return func() metrics.Lifecycle {
		s := k.Snapshot()
		figures := metrics.Lifecycle{PlanRefused: s.Refused != nil}
		for _, v := range s.Versions {
			life := metrics.Life{Version: v.Version, Stage: string(v.Stage)}
			if schedule := s.Plan.Versions[v.Version]; schedule != nil {
				life.Sunset = schedule.Sunset
			}
			if v.Gate != nil {
				life.Gate, life.GateHolds = true, v.Gate.Holds
			}
			figures.Versions = append(figures.Versions, life)
		}
		return figures
	}
}

func usageFigures(c *usage.Census) func() []metrics.Usage {
	return func() []metrics.Usage {
		var figures []metrics.Usage
		for _, v := range c.Report().Versions {
			for window, count := range map[string]usage.Count{"hour": v.Hour, "day": v.Day, "week": v.Week} {
				figures = append(figures, metrics.Usage{Version: v.Version, Window: window, Clients: count.Clients, Calls: count.Calls})
			}
		}
		return figures
	}
}

// usageAnswer is who uses what, and what would stop them on the current version.
type usageAnswer struct {
	usage.Report
	Versions []versionAnswer `json:"versions"`
}

type versionAnswer struct {
	usage.Version
	Clients []clientAnswer  `json:"clients"`
	Survey  *survey.Version `json:"survey"` // null for the current version
}

type clientAnswer struct {
	usage.Client
	Stops []survey.Count `json:"stops"` // why its calls would fail on the successor; empty if none did
}

func usageReport(used usage.Report, tried survey.Report) usageAnswer {
	answer := usageAnswer{Report: used, Versions: make([]versionAnswer, len(used.Versions))}
	for i, v := range used.Versions {
		row := versionAnswer{Version: v, Clients: make([]clientAnswer, len(v.Clients))}
		stops := map[string][]survey.Count{}
		for j := range tried.Versions {
			if found := &tried.Versions[j]; found.Version == v.Version {
				row.Survey = found
				for _, c := range found.Clients {
					stops[c.Client] = c.Reasons
				}
			}
		}
		for j, c := range v.Clients {
			row.Clients[j] = clientAnswer{Client: c, Stops: append([]survey.Count{}, stops[c.Client]...)}
		}
		answer.Versions[i] = row
	}
	return answer
}
