package store

import (
	"database/sql"
	"database/sql/driver"
)

// MaxTries is how often a transaction is begun that others got in the way of.
const MaxTries = maxTries

// Guarded is a connector as a server is connected to.
func Guarded(c driver.Connector) *sql.DB { return sql.OpenDB(guardedConnector{c}) }
