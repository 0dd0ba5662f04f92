package lifecycle

import (
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
)

// Own is what one client did on one version.
type Own struct {
	Version  string       `json:"-"`
	LastSeen time.Time    `json:"lastSeen,omitzero"`
	Moved    time.Time    `json:"moved,omitzero"` // when the current version last served it, since its last call here
	Days     []OwnDay     `json:"days"`           // with calls, in order, of the last 90
	Compared string       `json:"compared,omitempty"`
	Findings []OwnFinding `json:"findings"` // what the current version makes of the calls of that day
}

// OwnDay is a day in UTC.
type OwnDay struct {
	Day     string `json:"day"`
	Served  uint64 `json:"served"`
	Refused uint64 `json:"refused"` // by a brownout, or because the version is retired
	Failed  uint64 `json:"failed"`  // with an error of its own
}

// OwnFinding is what the current version would answer to some calls.
type OwnFinding struct {
	Outcome string `json:"outcome"` // same, different, refused
	Code    string `json:"code,omitempty"`
	Param   string `json:"param,omitempty"`
	Calls   uint64 `json:"calls"`
	Says    string `json:"says"` // the same in words
}

// OwnUsage reports a client's own calls to old versions.
type OwnUsage struct {
	Client   string       `json:"client"`
	Plan     string       `json:"plan,omitempty"` // the hash of the plan in force
	Versions []ownVersion `json:"versions"`
}

// ownVersion is an old version as one client sees it.
type ownVersion struct {
	Name      string     `json:"name"`
	State     Stage      `json:"state"`
	Sunset    time.Time  `json:"sunset,omitzero"`
	Successor string     `json:"successor,omitempty"`
	Migration string     `json:"migration,omitempty"`
	Exempt    bool       `json:"exempt"` // no window refuses this client; the sunset does
	Window    *ownWindow `json:"window"` // the open or next one; null: none is planned
	Own
}

// ownWindow is a window, and whether it refuses this client.
type ownWindow struct {
	Brownout
	Refused bool `json:"refused"`
}

// OwnUsage describes the old versions to a client, with what it did on each: those that are
// in the plan, and all but the first.
func (k *Keeper) OwnUsage(c caller.Caller, own []Own) OwnUsage {
	now := k.options.Now()
	inForce := k.inForce.Load()
	mine := OwnUsage{Client: c.Known.Name, Plan: inForce.hash, Versions: []ownVersion{}}
	for i, v := range inForce.versions {
		if i == 0 && v.schedule == nil {
			continue
		}
		who := Calling(v.name, c)
		my := ownVersion{
			Name: v.name, State: v.stage(now), Exempt: v.schedule.Exempts(who),
			Own: Own{Days: []OwnDay{}, Findings: []OwnFinding{}},
		}
		if s := v.schedule; s != nil {
			my.Sunset, my.Successor, my.Migration = s.Sunset, s.Successor, s.Docs
		}
		if b, planned := v.schedule.NextBrownout(now); planned {
			my.Window = &ownWindow{b, v.schedule.Hits(b, who)}
		}
		for _, o := range own {
			if o.Version == v.name {
				my.Own = o
			}
		}
		mine.Versions = append(mine.Versions, my)
	}
	return mine
}
