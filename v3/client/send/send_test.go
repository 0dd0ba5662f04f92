package send_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

func TestSend(t *testing.T) {
	for name, test := range map[string]struct {
		token   string
		allowed int64 // before
		want    string
	}{
		"approval":             {"USDC", 0, "mint approval swap"},
		"some allowance":       {"USDC", 1, "mint reset approval swap"},
		"sufficient allowance": {"USDC", 1e12, "mint reset swap"},
		"reset":                {"USDT", 1, "mint reset reset approval swap"},
		"coins":                {"ETH", 0, "swap"},
	} {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, test.token)
			if test.allowed > 0 {
				n.do(t, n.swap.Approval.To, "approve", n.swap.Main.To, big.NewInt(test.allowed)) // told as a reset
			}
			receipt, err := sender.Send(t.Context(), n.swap)
			if err != nil {
				t.Fatal(err)
			}
			if got := n.onChain(t); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			last := n.swap.Steps[len(n.swap.Steps)-1]
			if len(receipt.Logs) == 0 || last.What != send.SwapStep || last.Hash != receipt.TxHash {
				t.Errorf("got %d logs and the last step %+v", len(receipt.Logs), last)
			}
		})
	}
}

// errLost is what a connection says that broke.
var errLost = errors.New("connection reset by peer")

// TestResume ends a run at every point, reads the swap from its JSON, and runs it to the end.
func TestResume(t *testing.T) {
	type crash func(n *node, s *send.Sender, cancel func())
	lost := func(what string, passed bool) crash {
		return func(n *node, _ *send.Sender, _ func()) {
			n.take = func(tx *types.Transaction) error {
				if n.what(tx) != what || passed {
					if err := n.pass(tx); err != nil {
						return err
					}
				}
				if n.what(tx) != what {
					return nil
				}
				n.byHash = errLost
				return errLost
			}
		}
	}
	silent := func(what string) crash {
		return func(n *node, _ *send.Sender, cancel func()) {
			n.take = func(tx *types.Transaction) error {
				n.waiting = n.what(tx) == what
				if n.waiting {
					cancel()
				}
				return n.pass(tx)
			}
		}
	}
	for name, test := range map[string]struct {
		crash crash
		code  string
	}{
		"before the approval was sent":      {lost("approval", false), send.NodeUnavailable},
		"after the approval was sent":       {lost("approval", true), send.NodeUnavailable},
		"while the approval is waited for":  {silent("approval"), send.NodeUnavailable},
		"before the swap was sent":          {lost("swap", false), send.Unknown},
		"after the swap was sent":           {lost("swap", true), send.Unknown},
		"while the swap is waited for":      {silent("swap"), send.Unknown},
		"after the approval, nothing saved": {func(_ *node, s *send.Sender, _ func()) { failSecond(s) }, send.NotSaved},
		"receipts cannot be read": {func(n *node, _ *send.Sender, _ func()) {
			n.receipt = func(*types.Receipt) (*types.Receipt, error) { return nil, errLost }
		}, send.NodeUnavailable},
		"never": {func(*node, *send.Sender, func()) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, "USDC")
			var saved []byte
			sender.Save = func(w *send.Swap) (err error) {
				saved, err = json.Marshal(w)
				return err
			}
			resumed := sender
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			test.crash(n, &sender, cancel)
			if _, err := sender.Send(ctx, n.swap); codeOf(err) != test.code {
				t.Fatalf("got %v, want %q", err, test.code)
			}
			n.take, n.byHash, n.receipt, n.waiting = nil, nil, nil, false
			w := &send.Swap{}
			if err := json.Unmarshal(saved, w); err != nil {
				t.Fatal(err)
			}
			first, err := resumed.Send(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			given := len(n.given)
			second, err := resumed.Send(t.Context(), w)
			if err != nil || second.TxHash != first.TxHash || len(n.given) != given {
				t.Errorf("a swap that was sent: got %+v and %v", second, err)
			}
			if got := n.onChain(t); got != "mint approval swap" {
				t.Errorf("got %s", got)
			}
			different := map[common.Hash]bool{}
			for _, tx := range n.given {
				different[tx.Hash()] = true
			}
			if len(different) != 2 {
				t.Errorf("%d different transactions were given to the node, want 2", len(different))
			}
		})
	}
}

// TestResumeElsewhere: a swap that was sent stays unknown where it cannot be looked for.
func TestResumeElsewhere(t *testing.T) {
	n, sender := start(t, "ETH")
	if _, err := sender.Send(t.Context(), n.swap); err != nil {
		t.Fatal(err)
	}
	n.swap.ChainID = 10
	_, err := sender.Send(t.Context(), n.swap)
	if codeOf(err) != send.Unknown || !strings.Contains(err.Error(), send.WrongChain) {
		t.Errorf("got %v, want %s", err, send.Unknown)
	}
}

// failSecond lets the second Save fail.
func failSecond(s *send.Sender) {
	save, calls := s.Save, 0
	s.Save = func(w *send.Swap) error {
		if calls++; calls == 2 {
			return errors.New("disk full")
		}
		return save(w)
	}
}

// TestReplaced has the owner of the account replace a transaction in another wallet.
func TestReplaced(t *testing.T) {
	speedUp := func(tx *types.Transaction) *types.DynamicFeeTx {
		return &types.DynamicFeeTx{Nonce: tx.Nonce(), To: tx.To(), Value: tx.Value(), Data: tx.Data(), Gas: tx.Gas()}
	}
	cancelled := func(tx *types.Transaction) *types.DynamicFeeTx {
		return &types.DynamicFeeTx{Nonce: tx.Nonce(), To: &common.Address{1}, Gas: 21_000}
	}
	for name, test := range map[string]struct {
		what  string
		other func(*types.Transaction) *types.DynamicFeeTx
		block error // when a whole block is asked for
		code  string
		want  string // on the chain
	}{
		"swap sped up":        {"swap", speedUp, nil, "", "mint approval swap"},
		"approval sped up":    {"approval", speedUp, nil, "", "mint approval swap"},
		"sped up on a rollup": {"swap", speedUp, types.ErrTxTypeNotSupported, "", "mint approval swap"},
		"swap cancelled":      {"swap", cancelled, nil, send.Replaced, "mint approval other"},
		"approval cancelled":  {"approval", cancelled, nil, send.Replaced, "mint other"},
		"block not shown":     {"swap", speedUp, errLost, send.Unknown, "mint approval swap"},
	} {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, "USDC")
			n.block = test.block
			var other *types.Transaction
			n.take = func(tx *types.Transaction) error {
				if err := n.pass(tx); err != nil || n.what(tx) != test.what {
					return err
				}
				other = n.sign(t, test.other(tx), 50)
				if err := n.pass(other); err != nil {
					return err
				}
				for range 5 {
					n.chain.Commit()
				}
				return nil
			}
			_, err := sender.Send(t.Context(), n.swap)
			if codeOf(err) != test.code || n.onChain(t) != test.want {
				t.Fatalf("got %v and %s, want %q and %s", err, n.onChain(t), test.code, test.want)
			}
			if _, again := sender.Send(t.Context(), n.swap); codeOf(again) != test.code || n.onChain(t) != test.want {
				t.Errorf("sent again: got %v and %s", again, n.onChain(t))
			}
			if test.code != "" {
				return
			}
			followed := false
			for _, step := range n.swap.Steps {
				followed = followed || step.Hash == other.Hash()
			}
			if !followed {
				t.Errorf("no step has the new hash %s", other.Hash())
			}
		})
	}
}

// TestNonceTaken has another wallet of the account use the nonce first.
func TestNonceTaken(t *testing.T) {
	n, sender := start(t, "ETH")
	n.take = func(tx *types.Transaction) error {
		other := &types.DynamicFeeTx{Nonce: tx.Nonce(), To: &common.Address{1}, Gas: 1_000_000}
		if err := n.pass(n.sign(t, other, 50)); err != nil {
			t.Error(err)
		}
		n.chain.Commit()
		for { // the pool may take a moment to notice the block
			err := n.pass(tx)
			if err == nil || !strings.Contains(err.Error(), "underpriced") {
				return err
			}
		}
	}
	if _, err := sender.Send(t.Context(), n.swap); codeOf(err) != send.Replaced || n.onChain(t) != "other" {
		t.Errorf("got %v and %s, want %s", err, n.onChain(t), send.Replaced)
	}
}

// TestParallel sends two swaps of one account at once. An allowance is for one of them.
func TestParallel(t *testing.T) {
	n, sender := start(t, "USDC")
	another := *n.swap
	var all sync.WaitGroup
	for _, w := range []*send.Swap{n.swap, &another} {
		all.Go(func() {
			if _, err := sender.Send(t.Context(), w); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := n.onChain(t); got != "mint approval swap approval swap" {
		t.Errorf("got %s", got)
	}
}

// TestBusy: whoever waits for the account can give up.
func TestBusy(t *testing.T) {
	n, sender := start(t, "USDC")
	another := *n.swap
	sender.Progress = func(what string) {
		if !strings.Contains(what, "sending") {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := sender.Send(ctx, &another)
		if codeOf(err) != send.Busy || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %s", err, send.Busy)
		}
	}
	if _, err := sender.Send(t.Context(), n.swap); err != nil {
		t.Error(err)
	}
}

// TestContracts runs chains on which some of what a swap names is no contract.
func TestContracts(t *testing.T) {
	delegated := types.Account{
		Code:    types.AddressToDelegation(common.Address{1}),
		Balance: new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil),
	}
	target := func(n *node) common.Address { return n.swap.Main.To }
	token := func(n *node) common.Address { return n.swap.Approval.To }
	for name, test := range map[string]struct {
		token   string
		alter   func(types.GenesisAlloc, *node)
		missing func(*node) common.Address // nil if it is sent
	}{
		"delegated sender":    {"ETH", func(a types.GenesisAlloc, n *node) { a[n.key.Address()] = delegated }, nil},
		"no pool for tokens":  {"USDC", func(a types.GenesisAlloc, n *node) { delete(a, target(n)) }, target},
		"no pool for coins":   {"ETH", func(a types.GenesisAlloc, n *node) { delete(a, target(n)) }, target},
		"no token":            {"USDC", func(a types.GenesisAlloc, n *node) { delete(a, token(n)) }, token},
		"delegated as a pool": {"ETH", func(a types.GenesisAlloc, n *node) { a[target(n)] = delegated }, target},
	} {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, test.token, test.alter)
			_, err := sender.Send(t.Context(), n.swap)
			if test.missing == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if codeOf(err) != send.NoContract || !strings.Contains(err.Error(), test.missing(n).String()) {
				t.Errorf("got %v, want %s", err, send.NoContract)
			}
			if len(n.given) != 0 {
				t.Errorf("%d transactions were sent", len(n.given))
			}
		})
	}
}

// TestContractUnknown: if the node does not answer, coins stay, and tokens go after a warning.
func TestContractUnknown(t *testing.T) {
	for token, want := range map[string]string{"ETH": send.ContractUnknown, "USDC": ""} {
		t.Run(token, func(t *testing.T) {
			n, sender := start(t, token)
			n.code = func(ctx context.Context, _ common.Address) ([]byte, error) {
				if end, ok := ctx.Deadline(); !ok || time.Until(end) > 5*time.Second {
					t.Errorf("the node may take until %s, want five seconds", end)
				}
				return nil, errLost
			}
			warnings := 0
			sender.Progress = func(what string) {
				if strings.HasPrefix(what, "warning: the node does not say whether there is a contract at 0x") {
					warnings++
				}
			}
			_, err := sender.Send(t.Context(), n.swap)
			if codeOf(err) != want || (want == "") != (warnings == 2) {
				t.Errorf("got %v and %d warnings, want %q", err, warnings, want)
			}
			if want != "" && len(n.given) != 0 {
				t.Errorf("%d transactions were sent", len(n.given))
			}
		})
	}
}

// nodeSays is an error that a node answers.
type nodeSays string

func (e nodeSays) Error() string  { return string(e) }
func (e nodeSays) ErrorCode() int { return -32000 }

// TestNodeErrors: whatever the node says, the swap is given to it once.
func TestNodeErrors(t *testing.T) {
	reverted := func(r *types.Receipt) (*types.Receipt, error) {
		r.Status = types.ReceiptStatusFailed
		return r, nil
	}
	unread := func(*types.Receipt) (*types.Receipt, error) { return nil, errLost }
	for name, test := range map[string]struct {
		says    error // of the swap
		passed  bool  // the swap gets to the chain all the same
		byHash  error
		receipt func(*types.Receipt) (*types.Receipt, error)
		code    string
		steps   int
	}{
		"answer lost":                   {errLost, true, errLost, nil, send.Unknown, 1},
		"answer lost, found again":      {errLost, true, nil, nil, "", 1},
		"failed after it took it":       {nodeSays("internal error"), true, ethereum.NotFound, nil, send.Unknown, 1},
		"failed, found again":           {nodeSays("internal error"), true, nil, nil, "", 1},
		"known already":                 {nodeSays("already known"), true, nil, nil, "", 1},
		"known already, and not seen":   {nodeSays("already known"), false, nil, nil, send.Unknown, 1},
		"in a block already":            {nodeSays("nonce too low"), true, ethereum.NotFound, nil, "", 1},
		"refused":                       {nodeSays("insufficient funds"), false, nil, nil, send.NotTaken, 0},
		"refused by something in front": {errors.New("insufficient funds"), false, nil, nil, send.Unknown, 1},
		"receipt lost":                  {nil, true, nil, unread, send.Unknown, 1},
		"reverted":                      {nil, true, nil, reverted, send.Reverted, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, "ETH")
			n.byHash, n.receipt = test.byHash, test.receipt
			n.take = func(tx *types.Transaction) error {
				if test.passed {
					if err := n.pass(tx); err != nil {
						t.Error(err)
					}
				}
				return test.says
			}
			_, err := sender.Send(t.Context(), n.swap)
			if codeOf(err) != test.code || len(n.given) != 1 || len(n.swap.Steps) != test.steps {
				t.Errorf("got %v, %d given and %d steps, want %q, 1 and %d",
					err, len(n.given), len(n.swap.Steps), test.code, test.steps)
			}
		})
	}
}

// TestReverted has the chain refuse what the node did not see coming. It is not sent again.
func TestReverted(t *testing.T) {
	n, sender := start(t, "USDC")
	n.do(t, n.swap.Approval.To, "transfer", common.Address{1}, new(big.Int).Lsh(n.swap.Amount, 1))
	n.estimate = 1_000_000
	for range 2 {
		_, err := sender.Send(t.Context(), n.swap)
		if codeOf(err) != send.Reverted || len(n.given) != 2 {
			t.Errorf("got %v and %d given, want %s and 2", err, len(n.given), send.Reverted)
		}
	}
}

// TestRefuses: nothing is sent.
func TestRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		alter func(*node, *send.Sender)
		code  string
	}{
		"another chain":   {func(n *node, _ *send.Sender) { n.swap.ChainID = 10 }, send.WrongChain},
		"another account": {func(n *node, _ *send.Sender) { n.swap.Steps = make([]send.Step, 1) }, send.WrongAccount},
		"too little":      {func(n *node, _ *send.Sender) { n.swap.Main.Value = big.NewInt(1) }, send.WouldFail},
		"expired":         {func(n *node, _ *send.Sender) { n.swap.Expires = time.Now().Add(-time.Second) }, send.Expired},
		"no bound":        {func(_ *node, s *send.Sender) { s.MaxGas = nil }, send.GasTooHigh},
		"low bound":       {func(_ *node, s *send.Sender) { s.MaxGas = big.NewInt(1) }, send.GasTooHigh},
		"high tip":        {func(n *node, _ *send.Sender) { n.tip = big.NewInt(1e15) }, send.GasTooHigh},
		"much gas":        {func(n *node, _ *send.Sender) { n.estimate = 1 << 40 }, send.GasTooHigh},
		"not saved": {func(_ *node, s *send.Sender) {
			s.Save = func(*send.Swap) error { return errors.New("disk full") }
		}, send.NotSaved},
		"another signature": {func(_ *node, s *send.Sender) { s.Account = forger{s.Account} }, send.NotSigned},
	} {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, "ETH")
			test.alter(n, &sender)
			if _, err := sender.Send(t.Context(), n.swap); codeOf(err) != test.code || len(n.given) != 0 {
				t.Errorf("got %v and %d given, want %s and 0", err, len(n.given), test.code)
			}
		})
	}
	if _, err := send.New(&client.Checked{}); err == nil {
		t.Error("a swap out of a privacy pool was prepared")
	}
}

// A forger signs something else.
type forger struct{ send.Account }

func (f forger) SignTx(ctx context.Context, _ *types.Transaction, id *big.Int) (*types.Transaction, error) {
	return f.Account.SignTx(ctx, types.NewTx(&types.DynamicFeeTx{ChainID: id, To: &common.Address{1}}), id)
}
