package rpc

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/quotegate/quotegate/shared/testkit/node"
)

// A second question goes to another endpoint than the first, and a third to none if
// there are two.
func TestAskAnother(t *testing.T) {
	t.Parallel()
	fronts := []*node.Front{node.NewFront(t, simple), node.NewFront(t, simple)}
	g := newRig(t, fronts...)
	var asked Asked
	var answered []int
	ask := func() error {
		return g.AskAnother(t.Context(), 369, Wallets, &asked, func(ctx context.Context, e *Endpoint) error {
			if _, err := call(ctx, e, nil); err != nil {
				return err
			}
			answered = append(answered, e.Place)
			return nil
		})
	}
	for range 2 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(answered, []int{1, 2}) {
		t.Errorf("the endpoints %v answered, want 1 and 2", answered)
	}
	var failure *Failure
	if err := ask(); !errors.As(err, &failure) || failure.Reason != Unconfigured {
		t.Errorf("got %v, want that there is no other endpoint", err)
	}

	// One that fails is not asked by the next question either.
	answered = nil
	asked = Asked{}
	fronts[0].Instead("eth_call", node.Drops)
	if err := ask(); err != nil || !slices.Equal(answered, []int{2}) {
		t.Errorf("got %v of %v", err, answered)
	}
	if err := ask(); !errors.As(err, &failure) || failure.Reason != Unconfigured {
		t.Errorf("got %v, want that there is no other endpoint", err)
	}
}

// A question that wants more than one answer gets that of the next endpoint, and none of
// those that have answered counts as failed.
func TestAskMore(t *testing.T) {
	t.Parallel()
	fronts := []*node.Front{node.NewFront(t, simple), node.NewFront(t, simple), node.NewFront(t, simple)}
	fronts[0].Instead("eth_call", node.Drops)
	g := newRig(t, fronts...)
	answered := 0
	ask := func() error {
		return g.Ask(t.Context(), 369, Wallets, func(ctx context.Context, e *Endpoint) error {
			if _, err := call(ctx, e, nil); err != nil {
				return err
			}
			answered++
			return ErrMore
		})
	}
	if err := ask(); err == nil || answered != 2 {
		t.Errorf("got %v after %d answers, want 2", err, answered)
	}
	g.wantHealth(Working, 1, Wallets)
	fronts[0].Instead("eth_call", nil)
	g.pass(firstRest)
	_ = ask()
	g.wantHealth(Working, 0, Wallets)
}

// Two questions at the same time are not given the same endpoint.
func TestAskAnotherAtOnce(t *testing.T) {
	t.Parallel()
	g := newRig(t, node.NewFront(t, simple), node.NewFront(t, simple))
	for range 20 {
		var asked Asked
		var places [2]int
		var both sync.WaitGroup
		for i := range places {
			both.Go(func() {
				err := g.AskAnother(t.Context(), 369, Wallets, &asked, func(_ context.Context, e *Endpoint) error {
					places[i] = e.Place
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if places[0]+places[1] != 3 {
			t.Fatalf("the endpoints %v answered, want both", places)
		}
	}
}
