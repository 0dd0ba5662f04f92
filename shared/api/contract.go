package api

import (
	"time"

	"github.com/quotegate/quotegate/shared/static"
	"github.com/quotegate/quotegate/shared/version"
)

// contractAge is how long clients may keep a contract file without asking again.
const contractAge = 5 * time.Minute

// Contract serves the contract file of a version.
func Contract(name string, file []byte) version.Route {
	return version.Route{
		Path:   version.ContractPath(name),
		Free:   true,
		Handle: static.Document("application/yaml", file, contractAge),
	}
}
