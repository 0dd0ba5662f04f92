package api

import (
	"time"

	"github.com/quotegate/quotegate/shared/web"
)

// contractAge is how long clients may keep a contract file without asking again.
const contractAge = 5 * time.Minute

// Contract serves the contract file of a version.
func Contract(version string, file []byte) web.Route {
	return web.Route{
		Path:   web.ContractPath(version),
		Free:   true,
		Handle: web.Document("application/yaml", file, contractAge),
	}
}
