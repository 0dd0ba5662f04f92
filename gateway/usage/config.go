package usage

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Config is read from the environment. The zero value counts in memory.
type Config struct {
	// DB is where the counts are kept: postgres://… is a database that all
	// instances share, anything else the path of a SQLite file. Empty: in memory.
	DB string `env:"USAGE_DB" setting:"secret"`
	// Key is the secret with which addresses are hashed. Empty: one is generated
	// and kept in the database.
	Key string `env:"USAGE_KEY" setting:"secret"`
	// File is where earlier releases kept the counts. It must be empty.
	File string `env:"USAGE_FILE" setting:"withdrawn"`
}

// minKey makes a key too long to guess.
const minKey = 16

// Validate reports every problem, naming the variable. It repeats no secret.
func (c Config) Validate() error {
	var problems []error
	switch {
	case c.postgres():
		if _, err := pgx.ParseConfig(c.DB); err != nil { // err may repeat the password
			problems = append(problems, errors.New("USAGE_DB: is not a PostgreSQL URL; want postgres://user:password@host:5432/database"))
		}
	case strings.Contains(c.DB, "://"):
		problems = append(problems, errors.New("USAGE_DB: is neither postgres://… nor the path of a SQLite file"))
	}
	if c.Key != "" && len(c.Key) < minKey {
		problems = append(problems, fmt.Errorf("USAGE_KEY: is shorter than %d characters; write a random text, such as 32 hexadecimal digits, or leave it empty to have one made", minKey))
	}
	if c.File != "" {
		problems = append(problems, errors.New("USAGE_FILE: counts are kept in USAGE_DB now, which is the path of a SQLite file or postgres://…; the old file is not read"))
	}
	return errors.Join(problems...)
}

func (c Config) postgres() bool {
	return strings.HasPrefix(c.DB, "postgres://") || strings.HasPrefix(c.DB, "postgresql://")
}
