package gateway

import (
	"slices"
	"strings"

	"github.com/quotegate/quotegate/gateway/site"
	"github.com/quotegate/quotegate/shared/api"
	"github.com/quotegate/quotegate/shared/version"
	"github.com/quotegate/quotegate/v1"
	"github.com/quotegate/quotegate/v3"
	"github.com/quotegate/quotegate/v3legacy"
)

// Current is the version that clients are told to use. The others are compared with it.
const Current = "v3"

// versions are all that this gateway serves. CONTRIBUTING says how one is added, and how
// one is deleted.
var versions = []func(api.Service) version.Module{
	v3.Module,
	v3legacy.Module,
	v1.Module,
}

// RetiredVersions are the versions that were deleted from the code. Their clients get 410,
// and never an answer in the format of another version.
var RetiredVersions = []RetiredVersion{}

// RetiredVersion is a version that is no longer in the code. All its paths answer 410.
type RetiredVersion struct {
	Name     string
	Prefixes []string // of the paths that were its own
	// Revision is what its clients named to reach it at the path of its successor, in
	// the header API-Revision or by a host of LEGACY_HOSTS. It is empty without one.
	Revision  string
	Successor string // the path to call instead
}

// Modules are the versions, over one service. The current one also has the public pages.
func Modules(service api.Service) []version.Module {
	modules := make([]version.Module, len(versions))
	for i, module := range versions {
		modules[i] = module(service)
	}
	current := find(modules, Current)
	names := Names(modules)
	current.Routes = append(current.Routes,
		version.Route{Path: "/", Free: true, Handle: site.Page(service.Deployment, names, Current)},
		version.Route{Path: "/developers", Free: true, Handle: site.Developers(service.Deployment, names)})
	return modules
}

// Names lists the versions by name, in the order of the modules.
func Names(modules []version.Module) []string {
	names := make([]string, len(modules))
	for i := range modules {
		names[i] = modules[i].Name
	}
	return names
}

// Moves are the steps from each older version to the current one, by version.
func Moves(modules []version.Module) map[string][]string {
	moves := map[string][]string{}
	for _, old := range modules {
		if old.Name == Current {
			continue
		}
		steps := []string{"Call " + find(modules, Current).QuotePaths()[0] + " instead of " +
			strings.Join(old.QuotePaths(), " or ") + "."}
		for m := old; m.Name != Current; m = *find(modules, m.Next) {
			steps = append(steps, m.Moves...)
		}
		moves[old.Name] = steps
	}
	return moves
}

// find returns the module of a version, which must exist.
func find(modules []version.Module, name string) *version.Module {
	i := slices.IndexFunc(modules, func(m version.Module) bool { return m.Name == name })
	if i < 0 {
		panic("no module is named " + name) // a programming error
	}
	return &modules[i]
}
