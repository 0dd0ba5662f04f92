package fault_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/fault"
)

func TestFromHidesForeignText(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7: key=hunter2")
	e := fault.From(fmt.Errorf("wrapped: %w", secret))
	if e.Code != fault.Internal {
		t.Errorf("got code %s, want %s", e.Code, fault.Internal)
	}
	if strings.Contains(e.Message, "hunter2") {
		t.Errorf("message leaks the cause: %q", e.Message)
	}
	if !errors.Is(e, secret) {
		t.Error("the cause is lost to the log")
	}
}

func TestFromFindsWrappedFault(t *testing.T) {
	inner := fault.New(fault.UnsupportedPair, "Unsupported swap pair").Because(io.EOF)
	if got := fault.From(fmt.Errorf("quote: %w", inner)); got != inner {
		t.Errorf("got %v, want the inner fault", got)
	}
}

func TestAbout(t *testing.T) {
	if err := fault.About(fault.Amount, nil); err != nil {
		t.Errorf("got %v for a nil error, want nil", err)
	}
	refused := fault.About(fault.Amount, fault.New(fault.InvalidAmount, "no"))
	if got := fault.From(refused).Role; got != fault.Amount {
		t.Errorf("got role %d, want the amount", got)
	}
	if got := fault.From(fault.About(fault.SourceChain, refused)).Role; got != fault.Amount {
		t.Errorf("got role %d, want the more precise amount kept", got)
	}
	if got := fault.From(fault.About(fault.Amount, io.EOF)); got.Role != 0 || got.Code != fault.Internal {
		t.Errorf("got %+v, want an internal fault that blames no part of the request", got)
	}
}

func TestCodesAreDistinct(t *testing.T) {
	seen := map[fault.Code]bool{}
	for _, c := range fault.Codes() {
		if c == "" || seen[c] {
			t.Errorf("code %q is empty or listed twice", c)
		}
		seen[c] = true
	}
}
