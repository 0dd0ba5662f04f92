package gateway

import (
	"github.com/quotegate/quotegate/gateway/site"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/web"
	"github.com/quotegate/quotegate/shared/wire"
	"github.com/quotegate/quotegate/v1"
	"github.com/quotegate/quotegate/v3"
	"github.com/quotegate/quotegate/v3legacy"
)

// Core is what the versions need from the shared code.
type Core struct {
	Deployment *chain.Deployment
	Engine     wire.Quoter
	Tracker    v3.Tracker
	Registries func() []integrator.Health
	IssuerFees func() []cctp.State
	Draining   func() bool     // whether the service is about to end; nil for never
	Problems   func() []string // of the deployment, for the health check
}

// Modules is every version this gateway serves, the current one first. To remove
// a version, delete its line here and its folder. The current version also has
// the public page, at the root.
func Modules(core Core) []web.Module {
	engine := recordingQuoter{core.Engine}
	modules := []web.Module{
		v3.Module(engine, core.Tracker, core.Deployment, v3.Health{Registries: core.Registries, IssuerFees: core.IssuerFees, Draining: core.Draining, Problems: core.Problems}),
		v3legacy.Module(engine, core.Deployment),
		v1.Module(engine),
	}
	current := &modules[0]
	current.Routes = append(current.Routes, web.Route{Path: "/", Free: true, Handle: site.Page(core.Deployment, Names(modules))})
	return modules
}

// Names lists the versions by name, in the order of the modules.
func Names(modules []web.Module) []string {
	names := make([]string, len(modules))
	for i := range modules {
		names[i] = modules[i].Name
	}
	return names
}
