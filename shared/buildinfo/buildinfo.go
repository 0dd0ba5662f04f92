// Package buildinfo tells what this program was built from, as `go version -m` says it. What
// is not known is "unknown".
package buildinfo

import (
	"cmp"
	"runtime/debug"
)

// Release is the version of the service, its contract files and the client package, and
// Released is its date. The changelog has both as a heading.
const (
	Release  = "1.0.0"
	Released = "2026-11-18"
)

const unknown = "unknown"

// Facts are those of one build.
type Facts struct {
	Version  string // of a module, or of the commit of a checkout
	Module   string
	Revision string // the commit
	Modified string // whether the checkout had changes: "true" or "false"
}

// Read reads those of this program.
func Read() Facts {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return Of(info)
}

// Of are the facts in what Go has recorded.
func Of(info *debug.BuildInfo) Facts {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return Facts{
		Version:  cmp.Or(info.Main.Version, unknown),
		Module:   cmp.Or(info.Main.Path, unknown),
		Revision: cmp.Or(settings["vcs.revision"], unknown),
		Modified: cmp.Or(settings["vcs.modified"], unknown),
	}
}
