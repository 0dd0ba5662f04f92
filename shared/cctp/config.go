package cctp

import (
	"errors"
	"net/url"
)

// Config says where the issuer's fee service is.
type Config struct {
	// FeeURL is the base address of the fee service. Without one, the
	// built-in table is all there is.
	FeeURL string `env:"ISSUER_FEE_URL" setting:"secret"`
}

// Validate names the variable at fault. The address itself is not repeated:
// it may hold a credential.
func (c Config) Validate() error {
	_, err := c.base()
	return err
}

// base is the parsed address, nil where there is none.
func (c Config) base() (*url.URL, error) {
	if c.FeeURL == "" {
		return nil, nil
	}
	u, err := url.Parse(c.FeeURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, errors.New("ISSUER_FEE_URL: must be an absolute http or https address without query or fragment, such as https://iris-api.circle.com; leave it empty to use the built-in table")
	}
	return u, nil
}
