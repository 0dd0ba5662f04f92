// Package site is the public page at the root path: for browsers a page that asks for a quote, checks it and hands it
// to a wallet; for everyone else a short JSON index.
//
// What it promises: one answer holds all that a visitor needs to fill in the form. The page runs no script but its own
// and those of this gateway, asks nobody but this gateway and the visitor's wallet, and stores nothing. The
// Content-Security-Policy of the answer makes the browser keep all but the last of these promises.
package site

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/web"
)

//go:embed page.html page.css index.json *.js
var files embed.FS

// scripts are concatenated in this order to one module.
var scripts = []string{
	"page.js", "amount.js", "form.js", "pin.js", "quote.js", "wallet.js", "send.js", "journey.js", "start.js",
}

// later is what is for developers, and what is needed once a swap was sent: a module that the page imports then.
var later = []string{"code.js", "contracts.js", "receipt.js", "move.js", "versions.js"}

// maxAge is short, since the page lists what the deployment can swap.
const maxAge = time.Minute

// Page answers GET / for a deployment. current is the one of the versions that the
// index names.
func Page(d *chain.Deployment, versions []string, current string) web.Handler {
	body, policy := render(listingOf(d, versions))
	page := web.Document("text/html; charset=utf-8", body, maxAge)
	index := web.JSONDocument(indexOf(d, versions, current), maxAge)
	module := "export default ({ " + shared + " }) => {\n" + join(later) + "return { " + offered + " };\n};\n"
	rest := web.Document("text/javascript; charset=utf-8", []byte(module), maxAge)
	return func(w http.ResponseWriter, r *http.Request) error {
		h := w.Header()
		h.Add("Vary", "Accept")
		if r.URL.Query().Get("script") == "developers" {
			return rest(w, r)
		}
		if !web.PrefersHTML(r.Header) {
			return index(w, r)
		}
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin-allow-popups") // some wallets open a window
		return page(w, r)
	}
}

// render gives the page and the policy that lets the browser run this page's script and style and no others.
func render(l listing) (body []byte, policy string) {
	style := tight.Replace(web.Squeeze(read("page.css")))
	script := join(scripts)
	first := web.SqueezeScript(read("first.js"))
	data, err := json.Marshal(l) // escapes <, > and &, so that the text cannot end the element it is in
	if err != nil {
		panic(fmt.Sprintf("the listing of the page cannot be encoded: %v", err)) // its type is wrong, whatever the data
	}
	policy = strings.Join([]string{
		"default-src 'none'",
		"script-src 'self' " + web.PolicyHash(first) + " " + web.PolicyHash(script), // 'self' for /v3/client/
		"style-src " + web.PolicyHash(style) + " " + web.PolicyHash(noScript),
		"connect-src 'self'",
		"img-src data:", // the icons that wallets announce, and ours
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; ")
	banner := ""
	if l.Demo {
		banner = demoBanner
	}
	fill := strings.NewReplacer(
		"{{style}}", style, "{{noscript}}", noScript, "{{banner}}", banner,
		"{{first}}", first, "{{script}}", script, "{{listing}}", string(data),
	)
	return []byte(fill.Replace(web.Squeeze(read("page.html")))), policy
}

// demoBanner stands before the form of the reference deployment.
const demoBanner = `<p id="demo" class="alarm" role="note"><strong>Demo deployment:</strong> ` +
	`these contracts exist only on local test chains. Quotes are for testing and cannot be signed here.</p>`

// noScript hides what does nothing without scripts.
const noScript = ".js{display:none}#swap{min-height:0}"

// What the page gives the later part, and what that gives the page.
const (
	shared = "$, el, text, field, mono, list, button, copyButton, complain, calm, refuseFields, day, timeOf, " +
		"listing, readForm, source, target, isPrivate, networkOf, chainName, loadClient, " +
		"put, facts, money, short, pairs, byKey, HUB, showAmount, duration, TITLE, newSwap, leaveSwap, choose, " +
		"changed, enter, formQuery, coinOf, openJourney, explainWallet"
	offered = "showSnippets, showReference, readPin, tellTime, toWrap, tellSent, showDone, offerToAdd, " +
		"compareVersions, showVersions"
)

func join(names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(web.SqueezeScript(read(name)))
	}
	return b.String()
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic("the page lacks a file: " + err.Error())
	}
	return string(text)
}

// tight leaves out the spaces of a style sheet that mean nothing. Selectors keep theirs.
var tight = strings.NewReplacer(
	" {\n", "{", "{ ", "{",
	"; }", "}", ";\n}", "}",
	": ", ":", ", ", ",",
	"; ", ";", ";\n", ";",
)

// listing is what the page can swap, in few bytes: rows without names, and pairs that name tokens by their place.
type listing struct {
	Deployment string              `json:"deployment"`
	Demo       bool                `json:"demo,omitempty"` // its contracts are on local chains only
	Versions   []string            `json:"versions"`
	Chains     map[chain.ID]string `json:"chains"`
	Networks   map[chain.ID]string `json:"networks"`            // of the privacy pools
	Coins      map[chain.ID]string `json:"coins"`               // by network: the symbol of its own coin, if not ETH
	Explorers  map[chain.ID]string `json:"explorers,omitempty"` // by network
	Tokens     [][5]any            `json:"tokens"`              // routing ID, symbol, decimals, least, most
	Pairs      [][4]json.Number    `json:"pairs"`               // from, to, protocol fee in percent, seconds or 0
}

func listingOf(d *chain.Deployment, versions []string) listing {
	l := listing{
		Deployment: d.Name, Demo: d.Name == chain.Reference().Name, Versions: versions,
		Chains: map[chain.ID]string{}, Networks: map[chain.ID]string{},
		Coins: map[chain.ID]string{}, Explorers: map[chain.ID]string{},
	}
	places := map[string]json.Number{}
	place := func(id chain.ID, t *chain.Token) json.Number {
		key := t.Symbol + "@" + id.String()
		if _, known := places[key]; !known {
			places[key] = json.Number(strconv.Itoa(len(l.Tokens)))
			least, most := fee.Limits(t)
			l.Tokens = append(l.Tokens, [5]any{id, t.Symbol, t.Decimals, least.Dec(), most.Dec()})
		}
		return places[key]
	}
	for _, p := range d.Pairs() {
		l.Pairs = append(l.Pairs, [4]json.Number{
			place(p.Src, &p.SrcToken), place(p.Dst, &p.DstToken),
			json.Number(fee.Protocol(p.Src, p.Dst).AppendPercent(nil)), json.Number(strconv.Itoa(int(d.Seconds(&p)))),
		})
	}
	for _, id := range d.IDs() {
		network, _ := chain.FindNetwork(id)
		if network.Coin != chain.ETH {
			l.Coins[network.ID] = network.Coin
		}
		if explorer := d.Explorer(network.ID); explorer != "" {
			l.Explorers[network.ID] = explorer
		}
		l.Chains[id] = id.Name()
		if id.Private() {
			l.Chains[id.Network()] = id.Network().Name() // where its transactions are sent
			l.Networks[id] = id.Network().String()
		}
	}
	return l
}

// indexOf is the answer for everyone who does not ask for HTML.
func indexOf(d *chain.Deployment, versions []string, current string) json.RawMessage {
	contracts := map[string]string{}
	for _, name := range versions {
		contracts[name] = web.ContractPath(name)
	}
	byVersion, _ := json.Marshal(contracts) // texts can always be encoded
	deployment, _ := json.Marshal(d.Name)
	fill := strings.NewReplacer(
		"{{deployment}}", string(deployment), "{{current}}", current, "{{contracts}}", string(byVersion),
	)
	return json.RawMessage(fill.Replace(read("index.json")))
}
