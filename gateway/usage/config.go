package usage

import (
	"errors"
	"fmt"
)

// Config is read from the environment. Its zero value counts in memory alone.
type Config struct {
	// File is where counts outlive the process; one process writes it. Empty:
	// they do not outlive it.
	File string `env:"USAGE_FILE"`
	// Key is the secret under which addresses are hashed. Instances that share
	// their counts need the same one, and agree on one through Redis when it is
	// empty.
	Key string `env:"USAGE_KEY"`
}

// minKey keeps a key from being guessed along with the addresses.
const minKey = 16

// Validate names the variable at fault. The key itself is not repeated.
func (c Config) Validate() error {
	if c.Key != "" && len(c.Key) < minKey {
		return errors.New("USAGE_KEY: " + fmt.Sprintf("is shorter than %d characters; write a random text, such as 32 hexadecimal digits, or leave it empty to have one made", minKey))
	}
	return nil
}
