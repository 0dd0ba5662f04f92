package send_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

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
			send.Forget()
			if test.code != send.Unknown { // which is watched without
				resumed.Listing = listing
			}
			w := &send.Swap{}
			if err := json.Unmarshal(saved, w); err != nil {
				t.Fatal(err)
			}
			first, err := resumed.Send(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			given := len(n.given)
			if strings.Contains(name, "waited for") && given != 2 { // the node has it
				t.Errorf("%d transactions were given to the node, want 2", given)
			}
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

// TestCopies sends a swap several times, at once and again. A payment is known by what it is: one is made.
func TestCopies(t *testing.T) {
	n, sender := start(t, "USDC")
	sender.Listing = listing
	again, err := send.New(n.swap.Quote)
	if err != nil {
		t.Fatal(err)
	}
	simulated := copyOf(t, n.swap)
	simulated.Quote.Request.From = n.key.Address()
	copies := []*send.Swap{n.swap, copyOf(t, n.swap), again, n.swap, simulated}
	hashes := make([]common.Hash, len(copies))
	var all sync.WaitGroup
	for i, w := range copies {
		all.Go(func() {
			w = copyOf(t, w)
			if i%2 == 0 {
				w.Quote = n.swap.Quote
			}
			receipt, err := sender.Send(t.Context(), w)
			if err != nil {
				t.Error(err)
				return
			}
			hashes[i] = receipt.TxHash
			if w.From != n.key.Address() || len(w.Steps) != 2 {
				t.Errorf("got the account %s and %d steps, want those of the payment", w.From, len(w.Steps))
			}
		})
	}
	all.Wait()
	if got := n.onChain(t); got != "mint approval swap" {
		t.Errorf("got %s", got)
	}
	if slices.ContainsFunc(hashes, func(h common.Hash) bool { return h != hashes[0] }) {
		t.Errorf("got %s, want one transaction", hashes)
	}
	// Another quote for the same is another payment.
	other := copyOf(t, n.swap)
	other.Quote.Quote.Details.ValidUntil = "2030-01-01T00:00:00Z"
	other.Steps = nil
	if _, err := sender.Send(t.Context(), other); err != nil || n.onChain(t) != "mint approval swap approval swap" {
		t.Errorf("got %v and %s", err, n.onChain(t))
	}
}

// TestCopyIsSaved: what is known of a copy is stored with it, before anything else can fail.
func TestCopyIsSaved(t *testing.T) {
	n, sender := start(t, "ETH")
	another := copyOf(t, n.swap)
	if _, err := sender.Send(t.Context(), n.swap); err != nil {
		t.Fatal(err)
	}
	saved := 0
	sender.Save = func(w *send.Swap) error {
		saved = len(w.Steps)
		return errors.New("disk full")
	}
	if _, err := sender.Send(t.Context(), another); codeOf(err) != send.Unknown || saved != 1 {
		t.Errorf("got %v and %d steps, want %s and 1", err, saved, send.Unknown)
	}
	sender.Backend = nil
	if _, err := sender.Send(t.Context(), n.swap); codeOf(err) != send.Unknown { // whatever is missing
		t.Errorf("got %v, want %s", err, send.Unknown)
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
	n, sender := start(t, "ETH")
	n.estimate = 60_000
	for range 2 {
		_, err := sender.Send(t.Context(), n.swap)
		if codeOf(err) != send.Reverted || len(n.given) != 1 {
			t.Errorf("got %v and %d given, want %s and 1", err, len(n.given), send.Reverted)
		}
	}
}

// TestGas: a transaction has a quarter more gas than it seems to need.
func TestGas(t *testing.T) {
	n, sender := start(t, "ETH")
	n.estimate = 1_000_000
	if _, err := sender.Send(t.Context(), n.swap); err != nil || n.given[0].Gas() != 1_250_000 {
		t.Errorf("got %v and %d gas, want 1250000", err, n.given[0].Gas())
	}
}

// TestLaggingNode: whatever a node that lags behind says, each step is signed once, with a number of its own.
func TestLaggingNode(t *testing.T) {
	n, sender := start(t, "USDC")
	first, err := n.PendingNonceAt(t.Context(), n.key.Address())
	if err != nil {
		t.Fatal(err)
	}
	n.pending = &first // does not see the approval
	if _, err := sender.Send(t.Context(), n.swap); err != nil || n.onChain(t) != "mint approval swap" {
		t.Fatalf("got %v and %s", err, n.onChain(t))
	}
	// A swap in a block is not given again, though the node does not show it.
	n.byHash = ethereum.NotFound
	if _, err := sender.Send(t.Context(), n.swap); err != nil || len(n.given) != 2 {
		t.Errorf("got %v and %d given, want 2", err, len(n.given))
	}
}

// TestApprovesOnce: an approval in a block is not repeated, though the node still shows the allowance of before.
func TestApprovesOnce(t *testing.T) {
	n, sender := start(t, "USDC")
	sender.Save = func(*send.Swap) error { return nil }
	failing := sender
	failSecond(&failing)
	if _, err := failing.Send(t.Context(), n.swap); codeOf(err) != send.NotSaved {
		t.Fatalf("got %v, want %s", err, send.NotSaved)
	}
	n.calls = func(selector string) ([]byte, error) {
		if selector == allowanceOf {
			return make([]byte, 32), nil
		}
		return nil, nil
	}
	if _, err := sender.Send(t.Context(), n.swap); err != nil || n.onChain(t) != "mint approval swap" {
		t.Errorf("got %v and %s", err, n.onChain(t))
	}
}

// Selectors of questions to a token.
const (
	allowanceOf = "0xdd62ed3e"
	balanceOf   = "0x70a08231"
)

// revert is what a node answers of a call that reverts.
type revert struct{}

func (revert) Error() string  { return "execution reverted" }
func (revert) ErrorCode() int { return 3 }

var badGateway = rpc.HTTPError{StatusCode: 502, Status: "502 Bad Gateway"}

// TestReset: an allowance is reset if the node says that the approval reverts, and not if the node fails.
func TestReset(t *testing.T) {
	for name, test := range map[string]struct {
		says error
		code string
		want string
	}{
		"reverts":                 {revert{}, "", "mint reset reset approval swap"},
		"reverts, without a code": {nodeSays("VM Exception: revert"), "", "mint reset reset approval swap"},
		"does not":                {nil, "", "mint reset approval swap"},
		"bad gateway":             {badGateway, send.NodeUnavailable, "mint reset"},
		"connection lost":         {errLost, send.NodeUnavailable, "mint reset"},
		"another error":           {nodeSays("header not found"), send.WouldFail, "mint reset"},
		"words of something else": {errors.New("execution reverted"), send.NodeUnavailable, "mint reset"},
	} {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, "USDC")
			n.do(t, n.swap.Approval.To, "approve", n.swap.Main.To, big.NewInt(1)) // told as a reset
			n.approval = test.says                                                // once
			_, err := sender.Send(t.Context(), n.swap)
			if codeOf(err) != test.code || n.onChain(t) != test.want {
				t.Errorf("got %v and %s, want %q and %s", err, n.onChain(t), test.code, test.want)
			}
		})
	}
}

// TestExpired: after the expiry nothing is signed or newly broadcast, and what may be out is only watched for.
func TestExpired(t *testing.T) {
	monthAgo := func() time.Time { return time.Now().AddDate(0, -1, 0) }
	// lose has the node fail before it takes a step, and gives the swap as it was stored.
	lose := func(t *testing.T, n *node, sender send.Sender, what string) *send.Swap {
		t.Helper()
		n.take = func(tx *types.Transaction) error {
			if n.what(tx) != what {
				return n.pass(tx)
			}
			n.byHash = errLost
			return errLost
		}
		if _, err := sender.Send(t.Context(), n.swap); err == nil {
			t.Fatal("it was sent")
		}
		n.take, n.byHash, n.given = nil, nil, nil
		send.Forget()
		w := copyOf(t, n.swap)
		w.Expires = monthAgo()
		return w
	}
	t.Run("a swap that was saved and never broadcast", func(t *testing.T) {
		n, sender := start(t, "USDC")
		w := lose(t, n, sender, "swap")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sender.Progress = func(what string) {
			if strings.Contains(what, "only watched for") {
				cancel()
			}
		}
		_, err := sender.Send(ctx, w)
		if codeOf(err) != send.Unknown || len(n.given) != 0 {
			t.Errorf("got %v and %d given, want %s and 0", err, len(n.given), send.Unknown)
		}
		// Somebody else has broadcast it.
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(w.Steps[1].Raw); err != nil {
			t.Fatal(err)
		}
		if err := n.pass(tx); err != nil {
			t.Fatal(err)
		}
		sender.Progress = nil
		if receipt, err := sender.Send(t.Context(), w); err != nil || receipt.TxHash != tx.Hash() {
			t.Errorf("got %v, want its receipt", err)
		}
	})
	t.Run("an approval that was saved and never broadcast", func(t *testing.T) {
		n, sender := start(t, "USDC")
		w := lose(t, n, sender, "approval")
		sender.Listing = listing
		_, err := sender.Send(t.Context(), w)
		if codeOf(err) != send.Expired || len(n.given) != 0 {
			t.Errorf("got %v and %d given, want %s and 0", err, len(n.given), send.Expired)
		}
	})
	t.Run("while the gas is asked for", func(t *testing.T) {
		n, sender := start(t, "ETH")
		signs := counter{sender.Account, new(int)}
		sender.Account = signs
		n.code = func(ctx context.Context, address common.Address) ([]byte, error) {
			n.swap.Expires = monthAgo()
			return n.Client.CodeAt(ctx, address, nil)
		}
		_, err := sender.Send(t.Context(), n.swap)
		if codeOf(err) != send.Expired || *signs.signed != 0 {
			t.Errorf("got %v and %d signed, want %s and 0", err, *signs.signed, send.Expired)
		}
	})
	t.Run("while it is saved", func(t *testing.T) {
		n, sender := start(t, "ETH")
		sender.Save = func(w *send.Swap) error {
			w.Expires = monthAgo()
			return nil
		}
		_, err := sender.Send(t.Context(), n.swap)
		if codeOf(err) != send.Expired || len(n.given) != 0 || len(n.swap.Steps) != 0 {
			t.Errorf("got %v, %d given and %d steps, want %s", err, len(n.given), len(n.swap.Steps), send.Expired)
		}
	})
}

// TestRefuses: nothing is sent.
func TestRefuses(t *testing.T) {
	no := false
	past := time.Now().Add(-time.Second)
	for name, test := range map[string]struct {
		alter func(*node, *send.Sender)
		code  string
		says  string
	}{
		"another chain":   {func(n *node, _ *send.Sender) { n.swap.ChainID = 10 }, send.WrongChain, ""},
		"another account": {func(n *node, _ *send.Sender) { n.swap.Steps = make([]send.Step, 1) }, send.WrongAccount, ""},
		"expired":         {func(n *node, _ *send.Sender) { n.swap.Expires = past }, send.Expired, ""},
		"no backend":      {func(_ *node, s *send.Sender) { s.Backend = nil }, send.InvalidRequest, "Sender.Backend"},
		"nil client": {
			func(_ *node, s *send.Sender) { s.Backend = (*ethclient.Client)(nil) }, send.InvalidRequest, "Sender.Backend",
		},
		"no account": {func(_ *node, s *send.Sender) { s.Account = nil }, send.InvalidRequest, "Sender.Account"},
		"no key":     {func(_ *node, s *send.Sender) { s.Account = send.Key(nil) }, send.InvalidRequest, "Sender.Account"},
		"no bound":   {func(_ *node, s *send.Sender) { s.MaxGas = nil }, send.InvalidRequest, "Sender.MaxGas"},
		"low bound":  {func(_ *node, s *send.Sender) { s.MaxGas = big.NewInt(1) }, send.GasTooHigh, ""},
		"high tip":   {func(n *node, _ *send.Sender) { n.tip = big.NewInt(1e15) }, send.GasTooHigh, ""},
		"much gas":   {func(n *node, _ *send.Sender) { n.estimate = 1 << 40 }, send.GasTooHigh, ""},
		"no coins":   {func(n *node, _ *send.Sender) { n.coins = new(big.Int) }, send.TooLittle, "to pay for gas too"},
		"no coins for gas": {
			func(n *node, _ *send.Sender) { n.coins = n.swap.Main.Value }, send.TooLittle, "to pay for gas too",
		},
		"not saved": {func(_ *node, s *send.Sender) {
			s.Save = func(*send.Swap) error { return errors.New("disk full") }
		}, send.NotSaved, ""},
		"another signature": {func(_ *node, s *send.Sender) { s.Account = forger{s.Account} }, send.NotSigned, ""},
		"from JSON": {
			func(n *node, _ *send.Sender) { n.swap = copyOf(t, n.swap) }, send.InvalidRequest, "Sender.Client",
		},
		"without a quote": {func(n *node, s *send.Sender) {
			n.swap.Quote = nil
			s.Listing = listing
		}, send.InvalidRequest, "no quote"},
		"too little, says the gateway": {func(n *node, s *send.Sender) {
			lacking := client.Check{Actual: "1", Needed: "2"}
			insufficient(n.swap, client.Simulation{Native: lacking})
			s.Unverified = true
		}, send.TooLittle, ""},
		"it would fail, says the gateway": {func(n *node, s *send.Sender) {
			enough := client.Check{Actual: "2", Needed: "2"}
			insufficient(n.swap, client.Simulation{Native: enough, Event: &no})
			s.Unverified = true
		}, send.WouldFail, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, "ETH")
			q := *n.swap.Quote
			n.swap.Quote = &q
			test.alter(n, &sender)
			_, err := sender.Send(t.Context(), n.swap)
			if codeOf(err) != test.code || !strings.Contains(err.Error(), test.says) || len(n.given) != 0 {
				t.Errorf("got %v and %d given, want %s, %q and 0", err, len(n.given), test.code, test.says)
			}
		})
	}
	if _, err := send.New(&client.Checked{}); codeOf(err) != send.InvalidRequest {
		t.Errorf("a swap out of a privacy pool: got %v", err)
	}
	if _, err := send.New(nil); codeOf(err) != send.InvalidRequest {
		t.Errorf("no quote: got %v", err)
	}
	if _, err := (send.Sender{}).Send(t.Context(), nil); codeOf(err) != send.InvalidRequest {
		t.Errorf("no swap: got %v", err)
	}
}

// insufficient has a swap's quote say what a simulation showed.
func insufficient(w *send.Swap, s client.Simulation) {
	w.Quote.Sufficient = new(bool)
	answer := *w.Quote.Quote
	answer.Details = &client.Details{Simulation: &s}
	w.Quote.Quote = &answer
}

// TestTooLittle: an account without the tokens does not pay for an approval.
func TestTooLittle(t *testing.T) {
	for name, alter := range map[string]func(*node){
		"too few tokens": func(n *node) {
			n.do(t, n.swap.Approval.To, "transfer", common.Address{1}, new(big.Int).Add(n.swap.Amount, big.NewInt(1)))
		},
		"no coins": func(n *node) { n.coins = new(big.Int) },
		"gone by the time of the swap": func(n *node) {
			n.take = func(tx *types.Transaction) error {
				n.calls = func(selector string) ([]byte, error) {
					if selector == balanceOf {
						return make([]byte, 32), nil
					}
					return nil, nil
				}
				return n.pass(tx)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, "USDC")
			alter(n)
			before := n.onChain(t)
			want := before
			if n.take != nil {
				want += " approval"
			}
			if _, err := sender.Send(t.Context(), n.swap); codeOf(err) != send.TooLittle || n.onChain(t) != want {
				t.Errorf("got %v and %s, want %s and %s", err, n.onChain(t), send.TooLittle, want)
			}
		})
	}
}

// TestAltered: only what was checked is sent, whoever checks it.
func TestAltered(t *testing.T) {
	attacker := common.Address{0xab}
	alterations := map[string]func(*send.Swap){
		"target":                   func(w *send.Swap) { w.Main.To = attacker },
		"calldata":                 func(w *send.Swap) { w.Main.Data[100] ^= 1 },
		"value":                    func(w *send.Swap) { w.Main.Value = big.NewInt(1) },
		"amount":                   func(w *send.Swap) { w.Amount = new(big.Int).Lsh(w.Amount, 1) },
		"spender":                  func(w *send.Swap) { w.Approval.Data[30] ^= 1 },
		"token":                    func(w *send.Swap) { w.Approval.To = attacker },
		"no approval":              func(w *send.Swap) { w.Approval = nil },
		"main call of the quote":   func(w *send.Swap) { w.Quote.Main.To = attacker; w.Main.To = attacker },
		"a call of the quote":      func(w *send.Swap) { w.Quote.Calls[0].To = attacker },
		"target of the answer":     func(w *send.Swap) { w.Quote.Quote.To = attacker.Hex() },
		"a warning of the gateway": func(w *send.Swap) { w.Quote.Warning = "no such contract" },
		"what arrives":             func(w *send.Swap) { w.Quote.Dest = new(big.Int).Lsh(w.Quote.Dest, 1) },
		"recipient":                func(w *send.Swap) { w.Quote.Request.Recipient = attacker.Hex() },
		"half of an own note":      func(w *send.Swap) { w.Quote.OwnNote = true; w.Quote.Main.Data = w.Quote.Main.Data[:9] },
		"the note of no shielding": func(w *send.Swap) { w.Quote.OwnNote = true },
	}
	for name, alter := range alterations {
		t.Run(name, func(t *testing.T) {
			n, sender := start(t, "USDC")
			c, err := client.New("http://127.0.0.1:1", client.WithPinned(client.Pinned{Listing: listing}))
			if err != nil {
				t.Fatal(err)
			}
			for _, by := range []func(*send.Sender){
				func(s *send.Sender) { s.Client = c },
				func(s *send.Sender) { s.Listing = listing },
				func(s *send.Sender) { s.Client, s.Unverified = c, true }, // the exception is for those who have neither
			} {
				checking := sender
				by(&checking)
				w := copyOf(t, n.swap)
				alter(w)
				if _, err := checking.Send(t.Context(), w); codeOf(err) != send.Unverified || len(n.given) != 0 {
					t.Errorf("got %v and %d given, want %s", err, len(n.given), send.Unverified)
				}
			}
		})
	}
	// Whose Quote gave it checks it too.
	n, sender := start(t, "ETH")
	n.swap.Main.To = attacker
	if _, err := sender.Send(t.Context(), n.swap); codeOf(err) != send.Unverified || len(n.given) != 0 {
		t.Errorf("got %v and %d given, want %s", err, len(n.given), send.Unverified)
	}
	// What cannot be checked now is not sent yet.
	unreachable, err := client.New("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	n, sender = start(t, "ETH")
	sender.Client = unreachable
	_, err = sender.Send(t.Context(), n.swap)
	if e := (*send.Error)(nil); !errors.As(err, &e) || e.Code != send.NotChecked || !e.Temporary() || len(n.given) != 0 {
		t.Errorf("got %v and %d given, want %s", err, len(n.given), send.NotChecked)
	}
}

// TestUnverified: the exception sends what nobody checks.
func TestUnverified(t *testing.T) {
	n, sender := start(t, "ETH")
	sender.Unverified = true
	w := copyOf(t, n.swap)
	w.Quote.Warning = "no such contract"
	if _, err := sender.Send(t.Context(), w); codeOf(err) != send.Unverified || len(n.given) != 0 {
		t.Errorf("got %v and %d given, want %s", err, len(n.given), send.Unverified)
	}
	w.Quote = nil
	if _, err := sender.Send(t.Context(), w); err != nil || n.onChain(t) != "swap" {
		t.Errorf("got %v and %s", err, n.onChain(t))
	}
}

// A counter counts what an account signs.
type counter struct {
	send.Account
	signed *int
}

func (c counter) SignTx(ctx context.Context, tx *types.Transaction, id *big.Int) (*types.Transaction, error) {
	*c.signed++
	return c.Account.SignTx(ctx, tx, id)
}

// A forger signs something else.
type forger struct{ send.Account }

func (f forger) SignTx(ctx context.Context, _ *types.Transaction, id *big.Int) (*types.Transaction, error) {
	return f.Account.SignTx(ctx, types.NewTx(&types.DynamicFeeTx{ChainID: id, To: &common.Address{1}}), id)
}
