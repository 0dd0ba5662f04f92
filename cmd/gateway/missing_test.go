package main

import (
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/gateway/testkit/golden"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
	"github.com/quotegate/quotegate/v3/client"
)

// quotePaths are where each version quotes.
func quotePaths() map[string]string {
	paths := map[string]string{}
	for _, m := range modules() {
		for _, route := range m.Routes {
			if route.Quotes && route.Revision == "" {
				paths[m.Name] = route.Path
			}
		}
	}
	return paths
}

// TestIssuerFeeAboveTheCap: where the built-in fee is 0, there is no quote, in any
// version. Where it is not, it serves.
func TestIssuerFeeAboveTheCap(t *testing.T) {
	t.Parallel()
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"finalityThreshold":1000,"minimumFee":101},{"finalityThreshold":2000,"minimumFee":0}]`)
	}))
	defer issuer.Close()
	base, _, stop := start(t, map[string]string{"ISSUER_FEE_URL": issuer.URL})
	defer stop()
	there, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(there)
	for version, path := range quotePaths() {
		contract := golden.ReadContract(t, proxy, version)
		for source, want := range map[string]int{"137": http.StatusServiceUnavailable, "42161": http.StatusOK} {
			const query = "&srcToken=USDC&dstChain=369&dstToken=USDC&amount=100000000" +
				"&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
			r := httptest.NewRequest("GET", path+"?srcChain="+source+query, nil)
			w := httptest.NewRecorder()
			proxy.ServeHTTP(w, r)
			contract.Check(t, r, w)
			refused := strings.Contains(w.Body.String(), "ISSUER_FEE_TOO_HIGH") && w.Header().Get("Retry-After") == "60"
			if w.Code != want || refused != (want != http.StatusOK) {
				t.Errorf("%s from %s: got %d %s, want %d", version, source, w.Code, w.Body, want)
			}
		}
	}
}

// TestMissingContracts runs the service against real chains that lack contracts of its
// deployment. Every version warns of the quotes that need them, and of no other, until
// they are there.
func TestMissingContracts(t *testing.T) {
	t.Parallel()
	const recipient = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	d := chain.Reference()
	usdc, err := chain.FindToken(1, "USDC")
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(common.Address) types.GenesisAlloc { return types.GenesisAlloc{} }
	emptyEthereum, emptyBase := node.NewEVM(t, 1, nothing), node.NewEVM(t, 8453, nothing)
	ethereum, base := node.NewFront(t, emptyEthereum), node.NewFront(t, emptyBase)
	whole := node.NewFront(t, node.NewEVM(t, 1, func(operator common.Address) types.GenesisAlloc {
		return types.GenesisAlloc{
			router(t, 1, "USDC"): contracts.Pool(operator, usdc.Address.Address, operator, common.Address{}),
			usdc.Address.Address: contracts.Token(operator, "USDC", 6),
		}
	}))
	file := filepath.Join(t.TempDir(), "endpoints.json")
	write := func(ethereum *node.Front) {
		t.Helper()
		writeFile(t, file, fmt.Sprintf(`{"endpoints": {"1": [%q], "8453": [%q]}}`, ethereum.SecretURL(), base.SecretURL()))
	}
	write(ethereum)
	i := process(t, "DEPLOYMENT_FILE=reference", "RPC_FILE="+file)
	there, err := url.Parse(i.base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(there)
	ask := func(path, query string) (*http.Request, *httptest.ResponseRecorder) {
		t.Helper()
		r := httptest.NewRequest("GET", path+"?recipient="+recipient+"&"+query, nil)
		r.Header.Set("Origin", "https://wallet.example")
		w := httptest.NewRecorder()
		proxy.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("%s?%s: got %d %s", path, query, w.Code, w.Body)
		}
		return r, w
	}
	warningOf := func(path, query string) string {
		_, w := ask(path, query)
		return w.Header().Get("Quote-Warning")
	}
	const (
		fromEthereum = "srcChain=1&srcToken=USDC&dstChain=369&dstToken=USDC&amount=100000000"
		coins        = "srcChain=1&srcToken=ETH&dstChain=369&dstToken=WETH&amount=1000000000000000000"
		toEthereum   = "srcChain=369&srcToken=USDC&dstChain=1&dstToken=USDC&amount=100000000"
		burn         = "srcChain=42161&srcToken=USDC&dstChain=369&dstToken=USDC&amount=100000000"
		toArbitrum   = "srcChain=369&srcToken=USDC&dstChain=42161&dstToken=USDC&amount=100000000"
		elsewhere    = "srcChain=56&srcToken=USDC&dstChain=369&dstToken=USDC&amount=100000000000000000000"
	)
	none := func(network chain.ID, address common.Address) string {
		return fmt.Sprintf("This quote must not be signed: chain %s has no contract at %s", network, address.Hex())
	}
	warnings := map[string]string{
		fromEthereum: none(1, router(t, 1, "USDC")),
		coins:        none(1, router(t, 1, "ETH")),
		toEthereum:   none(1, router(t, 1, "USDC")),
		burn:         none(8453, d.Settlement.Receiver.Address),
		toArbitrum:   none(8453, router(t, 8453, "USDC")),
		elsewhere:    "",
	}
	eventually(t, "the first round is over", func() bool { return warningOf("/v3/swap/quote", burn) != "" })
	for version, path := range quotePaths() {
		contract := golden.ReadContract(t, proxy, version)
		for query, want := range warnings {
			r, w := ask(path, query)
			contract.Check(t, r, w)
			if got := w.Header().Get("Quote-Warning"); got != want {
				t.Errorf("%s, %s: got the warning %q, want %q", version, query, got, want)
			}
			if exposed := w.Header().Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "Quote-Warning") {
				t.Errorf("%s: a page may not read it: %s", version, exposed)
			}
		}
	}

	const details = "&include=details"
	contract := golden.ReadContract(t, proxy, "v3")
	for query, want := range map[string]bool{coins + details: true, elsewhere + details: false} {
		r, w := ask("/v3/swap/quote", query)
		contract.Check(t, r, w)
		if got := strings.Contains(w.Body.String(), `"contract":"MISSING"`); got != want {
			t.Errorf("%s: says that a contract is missing: %v, want %v", query, got, want)
		}
	}

	// On the chain, the call of an address without a contract succeeds.
	simulation := coins + "&include=details,simulation&from=" + emptyEthereum.Operator.Hex()
	for _, want := range []string{
		"The call succeeds, but the contract does not emit the event of this swap",
		"No contract exists at the called address", // from a node that can only estimate
	} {
		r, w := ask("/v3/swap/quote", simulation)
		contract.Check(t, r, w)
		if !strings.Contains(w.Body.String(), `"status":"FAILED","error":"`+want) {
			t.Errorf("got %s, want %s", w.Body, want)
		}
		ethereum.Instead("eth_simulateV1", node.RPCError(-32601))
	}

	// The client refuses it.
	c, err := client.New(i.base)
	if err != nil {
		t.Fatal(err)
	}
	request := client.Request{
		SrcChain: 1, SrcToken: "USDC", DstChain: 369, DstToken: "USDC",
		Amount: big.NewInt(100_000_000), Recipient: recipient,
	}
	if _, err := c.Quote(t.Context(), request); err == nil || !strings.Contains(err.Error(), warnings[fromEthereum]) {
		t.Errorf("the client says %v", err)
	}

	write(whole)
	i.signal(t, syscall.SIGHUP)
	eventually(t, "the contracts are found", func() bool { return warningOf("/v3/swap/quote", fromEthereum) == "" })
	if got := warningOf("/v3/swap/quote", coins); got != warnings[coins] {
		t.Errorf("the router of ETH is not there yet: got %q", got)
	}
}

// One registry that has an integrator is enough. That none has it is known only if all
// of them answer.
func TestRegisteredOnAnyChain(t *testing.T) {
	d := chain.Reference()
	active, dear, inactive, nobody := common.Address{1}, common.Address{2}, common.Address{3}, common.Address{4}
	endpoints := rpc.Config{}
	registryOn := func(id chain.ID, all ...contracts.Integrator) {
		front := node.NewFront(t, node.NewEVM(t, uint64(id), func(operator common.Address) types.GenesisAlloc {
			return types.GenesisAlloc{d.Registry(id).Address: contracts.Registry(operator, all...)}
		}))
		endpoints[id] = []rpc.SecretURL{rpc.SecretURL(front.SecretURL())}
	}
	ask := func(who common.Address) (bool, error) {
		chains, err := rpc.New(endpoints, rpc.Options{Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer chains.Close()
		registry, err := integrator.New(integrator.Config{CacheSize: 64, CacheTTL: time.Minute}, d, chains, integrator.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return registered(t.Context(), registry, "0x"+common.Bytes2Hex(who[:]))
	}
	registryOn(8453, contracts.Integrator{Wallet: active, FeeBPS: 10, Active: true}, contracts.Integrator{Wallet: dear, FeeBPS: 5000, Active: true}, contracts.Integrator{Wallet: inactive, FeeBPS: 10})
	for who, want := range map[common.Address]bool{active: true, dear: true, inactive: false, nobody: false} {
		if got, err := ask(who); got != want || (err == nil) != want {
			t.Errorf("%s: got %v, %v, want %v, and an error unless it is found", who, got, err, want)
		}
	}
	for _, id := range []chain.ID{1, 56, 369, 4663} {
		registryOn(id)
	}
	for who, want := range map[common.Address]bool{active: true, inactive: false, nobody: false} {
		if got, err := ask(who); got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v from all registries", who, got, err, want)
		}
	}
}
