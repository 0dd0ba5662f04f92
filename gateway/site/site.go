// Package site is the public pages: at the root one that asks for a quote, checks it and hands it to a wallet, for
// browsers, and a short JSON index for everyone else; and one for developers.
//
// What it promises: one answer holds all that a visitor needs to fill in the form. A page runs no script but its own
// and those of this gateway, asks nobody but this gateway and the visitor's wallet, and stores nothing. The
// Content-Security-Policy of the answer makes the browser keep all but the last of these promises.
package site

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/static"
	"github.com/quotegate/quotegate/shared/version"
)

//go:embed common swap developers
var files embed.FS

// A document is made of files: the scripts are concatenated in their order to one module, and the styles to one sheet.
type document struct {
	html    string
	styles  []string
	scripts []string
}

var (
	swapPage = document{"swap/page.html", []string{
		"common/page.css", "swap/form.css", "swap/quote.css", "swap/status.css", "common/media.css",
	}, []string{
		"common/page.js", "common/amount.js", "common/checksum.js", "common/listing.js", "swap/form.js", "swap/pin.js",
		"swap/quote.js", "swap/wallet.js", "swap/send.js", "swap/journey.js", "swap/receipt.js", "swap/start.js",
	}}
	developersPage = document{"developers/page.html", []string{
		"common/page.css", "developers/page.css", "common/media.css",
	}, []string{
		"common/page.js", "common/amount.js", "common/listing.js",
		"developers/code.js", "developers/move.js", "developers/versions.js",
	}}
)

// maxAge is short, since the pages list what the deployment can swap.
const maxAge = time.Minute

// Page answers GET / for a deployment. current is the one of the versions that the
// index names.
func Page(d *chain.Deployment, versions []string, current string) version.Handler {
	page := swapPage.handler(d, versions)
	index := static.JSON(indexOf(d, versions, current), maxAge)
	return func(w http.ResponseWriter, r *version.Request) error {
		w.Header().Add("Vary", "Accept")
		if !static.PrefersHTML(r.Header) {
			return index(w, r)
		}
		return page(w, r)
	}
}

// Developers answers GET /developers for a deployment.
func Developers(d *chain.Deployment, versions []string) version.Handler {
	return developersPage.handler(d, versions)
}

func (doc document) handler(d *chain.Deployment, versions []string) version.Handler {
	body, policy := doc.render(d, versions)
	page := static.Document("text/html; charset=utf-8", body, maxAge)
	return func(w http.ResponseWriter, r *version.Request) error {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin-allow-popups") // some wallets open a window
		return page(w, r)
	}
}

// render gives the page and the policy that lets the browser run this page's script and style and no others.
func (doc document) render(d *chain.Deployment, versions []string) (body []byte, policy string) {
	style := compact(join(doc.styles))
	script := withoutComments(join(doc.scripts))
	first := withoutComments(read("common/first.js"))
	policy = strings.Join([]string{
		"default-src 'none'",
		"script-src 'self' " + static.PolicyHash(first) + " " + static.PolicyHash(script), // 'self' for /v3/client/
		"style-src " + static.PolicyHash(style) + " " + static.PolicyHash(noScript),
		"connect-src 'self'",
		"img-src data:", // the icons that wallets announce, and ours
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; ")
	page := template.New("").Funcs(template.FuncMap{"contract": version.ContractPath})
	text := join([]string{"common/brand.html", "common/marks.html", doc.html})
	var b bytes.Buffer
	err := template.Must(page.Parse(text)).Execute(&b, map[string]any{
		"Developers": doc.html == developersPage.html,
		"Operator":   d.Name, "Contact": d.Contact, "Reference": d.IsReference(),
		"Web": strings.HasPrefix(d.Contact, "https://"), "Mail": mailAddress.MatchString(d.Contact),
		"Style": template.CSS(style), "NoScript": template.CSS(noScript),
		"First": template.JS(first), "Script": template.JS(script),
		"Listing": listingOf(d, versions), "Versions": versions,
	})
	if err != nil {
		panic(fmt.Sprintf("the page cannot be rendered: %v", err)) // a programming error
	}
	return b.Bytes(), policy
}

var mailAddress = regexp.MustCompile(`^[^\s@/:?&"'<>]+@[^\s@/:?&"'<>]+$`)

// withoutComments takes comments and indentation out of a script: an eighth of the page. No literal of the scripts goes
// over several lines, and none has a comment in it that ends a line.
func withoutComments(script string) string { return notForBrowsers.ReplaceAllString(script, "") }

var notForBrowsers = regexp.MustCompile("(?m)^[ \t]*//.*\n|^[ \t]+|[ \t]+// [^'\"`\n]*$")

// compact takes comments and spaces that mean nothing out of a style sheet, whose strings have none of these signs.
func compact(style string) string { return meaningless.ReplaceAllString(style, "$1$2") }

var meaningless = regexp.MustCompile(`(?s)/\*.*?\*/|\s*([{};,>])\s*|(:) `)

// noScript hides what does nothing without scripts.
const noScript = ".js{display:none!important}"

func join(names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(read(name))
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

// listing is what the page can swap, in few bytes: rows without names, and pairs that name tokens by their place.
type listing struct {
	Deployment string              `json:"deployment"`
	Contact    string              `json:"contact,omitempty"`
	Versions   []string            `json:"versions"`
	Chains     map[chain.ID]string `json:"chains"`
	Networks   map[chain.ID]string `json:"networks"`            // of the privacy pools
	Coins      map[chain.ID]string `json:"coins"`               // by network, if not ETH
	Explorers  map[chain.ID]string `json:"explorers,omitempty"` // by network
	Tokens     [][5]any            `json:"tokens"`              // routing ID, symbol, decimals, least, most
	Pairs      [][4]json.Number    `json:"pairs"`               // from, to, protocol fee in percent, seconds or 0
	ShieldBPS  uint16              `json:"shieldBps"`           // what RAILGUN takes
}

func listingOf(d *chain.Deployment, versions []string) listing {
	l := listing{
		Deployment: d.Name, Contact: d.Contact, Versions: versions,
		Chains: map[chain.ID]string{}, Networks: map[chain.ID]string{},
		Coins: map[chain.ID]string{}, Explorers: map[chain.ID]string{},
		ShieldBPS: d.Railgun.ShieldBPS,
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
func indexOf(d *chain.Deployment, versions []string, current string) map[string]any {
	contracts := map[string]string{}
	for _, name := range versions {
		contracts[name] = version.ContractPath(name)
	}
	base := "/" + current
	return map[string]any{
		"name": "quotegate", "deployment": d.Name, "versions": "/versions", "contracts": contracts,
		"quote": base + "/swap/quote", "status": base + "/swap/status", "health": base + "/swap/healthcheck",
		"pairs": base + "/app/pairs", "routers": base + "/app/routers",
		"verify": "/v3/verify.js", "client": "/v3/client/index.js",
	}
}
