package main

import (
	"encoding/hex"
	"math/big"
	"net/http"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/cmd/devnet/localnet"
	"github.com/quotegate/quotegate/shared/railgun"
)

const (
	owner    = "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa"
	ownerKey = "0x1ca1e63cc45ca8fd705fd7438b6a8869b9aaa7b2e333756f2768482f6b90ea10"
	stranger = "0zk1qyz75q556x52tgqw7jnavcdzs372jtghpalrfeazg9y4ym8vs6vh8rv7j6fe3z53llcjehy8up0hrd6vccs632a8qx6lksrknvja2fhu9shwehknj8xnc4h8vrp"
)

// shield is the swap of testdata/v3/shield.http.
var shield = with(wish, "-to", "USDC@69696969", "-recipient", owner)

func parse0zk(t *testing.T, text string) railgun.Address {
	t.Helper()
	address, err := railgun.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// serveNote serves an answer to shield with a note for somebody.
func serveNote(t *testing.T, recipient string) string {
	t.Helper()
	asked := ""
	return alterGateway(t, func(r *http.Request) {
		query := r.URL.Query()
		asked = query.Get("recipient")
		query.Set("recipient", recipient)
		r.URL.RawQuery = query.Encode()
	}, func(answer string) string { return strings.ReplaceAll(answer, recipient, asked) })
}

// TestNoteThatNobodyOpened wants it to be said, on whichever stream is not the answer's, and by the exit code.
func TestNoteThatNobodyOpened(t *testing.T) {
	gateway := serveNote(t, stranger)
	const unchecked = "\n  - whom the note in the answer pays: only the viewing key of the 0zk address can tell\n"

	code, stdout, stderr := call(t, nil, with(shield, "-gateway", gateway)...)
	if code != 1 {
		t.Errorf("got exit code %d, want 1", code)
	}
	contains(t, "the output", stdout, unchecked)
	contains(t, "the error", stderr, "do not sign the answer as it is")

	code, stdout, stderr = call(t, nil, with(shield, "-json", "-gateway", gateway)...)
	if code != 1 || strings.Contains(stdout, "Not checked") {
		t.Errorf("got exit code %d and %s, want 1 and the quote with an error", code, stdout)
	}
	contains(t, "the output", stdout, `{"quote":{"to":"0x`, `"code":"NOTE_UNCHECKED"`)
	contains(t, "the error", stderr, unchecked, "do not sign the answer as it is")
}

// TestNoteThatTheViewingKeyOpens wants the viewing key to tell a note for the recipient from another.
func TestNoteThatTheViewingKeyOpens(t *testing.T) {
	env := map[string]string{"QUOTE_VIEWING_KEY": ownerKey}
	code, stdout, stderr := call(t, env, with(shield, "-gateway", serveNote(t, owner))...)
	if code != 0 || stderr != "" || strings.Contains(stdout, "whom the note") {
		t.Errorf("got exit code %d, %s and\n%s", code, stderr, stdout)
	}
	contains(t, "the output", stdout, "Opened with the viewing key: the note.",
		"arrives         122.532408 USDC in the pool, which is 122.839506 USDC less RAILGUN's fee, for "+owner,
		"Shielded money shows at once, but may be spendable only after RAILGUN's waiting time.")
	code, _, stderr = call(t, env, with(shield, "-gateway", serveNote(t, stranger))...)
	if code != 1 {
		t.Errorf("got exit code %d for a stranger's note, want 1", code)
	}
	contains(t, "the refusal", stderr, "do not sign this quote", "the recipient cannot open it")
}

// TestUnshielding wants to be told what to take out of the pool.
func TestUnshielding(t *testing.T) {
	gateway := startGateway(t, truth)
	code, stdout, stderr := call(t, nil, with(wish, "-from", "USDC@69696969", "-gateway", gateway)...)
	if code != 0 || stderr != "" {
		t.Errorf("got exit code %d and %s", code, stderr)
	}
	contains(t, "the output", stdout, "arrives         122.839506 USDC, for 0x",
		"unshield        123.766204 USDC, of which RAILGUN's fee leaves 123.456789 USDC to swap",
		"A RAILGUN wallet must wrap this in its private transaction. Sent from a public account, it is an ordinary swap at another fee and without privacy:",
		"to     0x44f8A619042923b22A694D0aC447769Afb946E48\n  data   0x095ff22d", "data   0x095ea7b3")

	chain, key := startEthereum(t)
	env := map[string]string{"QUOTE_KEY": hex.EncodeToString(crypto.FromECDSA(key))}
	code, stdout, stderr = call(t, env, with(wish, "-from", "USDC@69696969", "-gateway", gateway, "-execute", "-rpc", chain.URL())...)
	if code != 1 {
		t.Errorf("got exit code %d for -execute, want 1", code)
	}
	contains(t, "the refusal", stderr, "not sent: -execute signs for a public account")
	contains(t, "the output", stdout, "data   0x095ff22d")
	if nonce, err := chain.Client().PendingNonceAt(t.Context(), crypto.PubkeyToAddress(key.PublicKey)); err != nil || nonce != 0 {
		t.Errorf("%d transactions were sent (%v)", nonce, err)
	}
}

// TestSignsItsOwnNote has a gateway pay a stranger, and wants the recipient to be paid all the same.
func TestSignsItsOwnNote(t *testing.T) {
	chain, key := startEthereum(t)
	mintUSDC(t, chain, key)
	env := map[string]string{"QUOTE_KEY": hex.EncodeToString(crypto.FromECDSA(key))}
	code, _, stderr := call(t, env, with(shield, "-json", "-gateway", serveNote(t, stranger), "-execute", "-rpc", chain.URL())...)
	if code != 0 {
		t.Fatalf("got exit code %d and %s", code, stderr)
	}
	contains(t, "the progress", stderr, "The note was made here for "+owner+"; the one in the answer is not used.",
		"Sent. 122.532408 USDC will arrive on RAILGUN on Ethereum (69696969).")

	note := swappedNote(t, chain)
	random, err := railgun.Open([32]byte(common.FromHex(ownerKey)), note)
	if err != nil || parse0zk(t, owner).NPK(random) != note.NPK {
		t.Errorf("got %v: the note that was sent is not the recipient's", err)
	}
}

// swappedNote is the note of the only swap that the pool saw.
func swappedNote(t *testing.T, chain *localnet.Chain) railgun.Note {
	t.Helper()
	logs, err := chain.Client().FilterLogs(t.Context(), ethereum.FilterQuery{FromBlock: new(big.Int), Addresses: []common.Address{pool}})
	if err != nil || len(logs) != 1 {
		t.Fatalf("got %d events of the pool and %v, want one", len(logs), err)
	}
	event := map[string]any{}
	if err := contracts.PoolABI.UnpackIntoMap(event, "Swap", logs[0].Data); err != nil {
		t.Fatal(err)
	}
	note, err := railgun.ParseNote(event["recipient"].([]byte))
	if err != nil {
		t.Fatal(err)
	}
	return note
}
