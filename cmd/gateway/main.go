// Command gateway serves swap quotes. Environment variables configure it, and all
// are optional: see docs/operate. `gateway help` lists the commands beside it.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/quotegate/quotegate/shared/safego"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	bringCertificates()
	signal.Ignore(syscall.SIGPIPE) // or the process would end with the reader of its log
	err := execute(ctx, invocation{
		args:   os.Args[1:],
		env:    newEnvironment(os.Environ()),
		stdout: os.Stdout,
		stderr: os.Stderr,
	})
	if err == nil {
		return
	}
	code := 1
	if _, wrong := errors.AsType[usageError](err); wrong {
		code = 2
	}
	safego.After(logTimeout, nil, "forced exit: the log writer is blocked", func() { os.Exit(code) })
	fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
	os.Exit(code)
}

// bringCertificates has TLS trust the public authorities where the system names none, as in an image that has only this
// program.
func bringCertificates() {
	if system, err := x509.SystemCertPool(); err == nil && !system.Equal(x509.NewCertPool()) {
		return
	}
	roots := x509.NewCertPool()
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // a kind of key that this Go does not know
		}
		if root.Constraint == nil {
			roots.AddCert(certificate)
		} else {
			roots.AddCertWithConstraint(certificate, root.Constraint)
		}
	}
	x509.SetFallbackRoots(roots)
}
