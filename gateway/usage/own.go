package usage

import (
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// Own reports a client's own calls to old versions.
type Own struct {
	Client   string       `json:"client"`
	Plan     string       `json:"plan,omitempty"` // the hash of the plan in force
	Versions []OwnVersion `json:"versions"`
}

// OwnVersion is an old version as one client sees it, with what it did there in 90 days.
type OwnVersion struct {
	lifecycle.Standing
	LastSeen time.Time    `json:"lastSeen,omitzero"`
	Moved    time.Time    `json:"moved,omitzero"` // when the current version last served it, if it has moved
	Both     bool         `json:"both,omitempty"` // it calls this version and the current one
	Days     []OwnDay     `json:"days"`           // with calls, in order
	Compared string       `json:"compared,omitempty"`
	Findings []OwnFinding `json:"findings"` // what the current version makes of the calls of that day
}

// OwnDay is a day in UTC.
type OwnDay struct {
	Day     string `json:"day"`
	Served  uint64 `json:"served"`
	Refused uint64 `json:"refused"` // by a brownout, or because the version is retired
	Failed  uint64 `json:"failed"`  // with an error of its own

	Last int64 `json:"-"` // the last call, or the begin of the day
}

// OwnFinding is a finding, and the same in words.
type OwnFinding struct {
	event.Finding
	Says string `json:"says"`
}
