package caller

import (
	"encoding/hex"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

const (
	integratorName = "integratorId"
	shortID        = 2 + 2*common.AddressLength
	longID         = 2 + 2*common.HashLength
	maxOrigin      = 255
	maxFamily      = 32

	padding = "000000000000000000000000" // what the 32-byte form puts before an address
)

// integratorIn finds the one integrator that a query names. It walks the query
// instead of parsing it: the cost is no more than one look at every byte.
func integratorIn(query string) string {
	if !strings.Contains(query, integratorName) && strings.IndexByte(query, '%') < 0 {
		return "" // as in most
	}
	value, found := "", false
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, text, _ := strings.Cut(pair, "=")
		if unescape(key, len(integratorName)) != integratorName {
			continue
		}
		if found {
			return "" // given twice it names nobody, and the versions refuse it
		}
		value, found = text, true
	}
	return canonicalIntegrator(unescape(value, longID))
}

// unescape decodes a piece of a query that is of interest only while it stands
// for at most length bytes.
func unescape(text string, length int) string {
	if strings.IndexByte(text, '%') < 0 && strings.IndexByte(text, '+') < 0 {
		return text
	}
	if len(text) > 3*length {
		return ""
	}
	plain, err := url.QueryUnescape(text)
	if err != nil {
		return ""
	}
	return plain
}

// canonicalIntegrator gives the lower-case 32-byte form of a wallet address or
// of its 32-byte form, and "" for anything else. It leaves checksums to the
// versions, which refuse a wrong one: whom it names is whom it means.
func canonicalIntegrator(text string) string {
	var digits string
	switch {
	case len(text) == shortID && text[:2] == "0x":
		digits = text[2:]
	case len(text) == longID && text[:2] == "0x" && text[2:2+len(padding)] == padding:
		digits = text[2+len(padding):]
	default:
		return ""
	}
	var wallet common.Address
	if _, err := hex.Decode(wallet[:], []byte(digits)); err != nil || wallet == (common.Address{}) {
		return ""
	}
	var room [longID]byte
	return string(hex.AppendEncode(append(room[:0], "0x"+padding...), wallet[:]))
}

// mistyped tells whether an integrator is in mixed case, which is a checksum,
// and that is wrong.
func mistyped(integrator string) bool {
	digits := integrator[len(integrator)-2*common.AddressLength:]
	return digits != strings.ToLower(digits) && digits != strings.ToUpper(digits) && digits != common.HexToAddress(digits).Hex()[2:]
}

// canonicalOrigin gives scheme://host[:port] in lower case, without the port a
// scheme implies, and "" for what names no place: "null", "file://", nonsense.
func canonicalOrigin(text string) string {
	if len(text) > maxOrigin {
		return ""
	}
	scheme, host, ok := strings.Cut(strings.ToLower(text), "://")
	if !ok || scheme == "" || !only(scheme, "+-.") {
		return ""
	}
	port := ""
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host, port = host[:colon], host[colon:]
		if n, err := strconv.ParseUint(port[1:], 10, 16); err != nil || n == 0 || port[1] == '0' {
			return ""
		}
	}
	if scheme == "https" && port == ":443" || scheme == "http" && port == ":80" {
		port = ""
	}
	if !isHost(host) {
		return ""
	}
	return scheme + "://" + host + port
}

func isHost(host string) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && addr.Is6() && addr.Zone() == "" && strings.HasSuffix(inner, "]")
	}
	return host != "" && only(host, "-._")
}

// only says whether text is lower-case letters, digits and the extra bytes.
func only(text, extra string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}

// family is the product that a User-Agent begins with, in lower case.
func family(agent string) string {
	end := 0
	for end < len(agent) && end < maxFamily && agent[end] > ' ' && agent[end] < 0x7f && agent[end] != '/' {
		end++
	}
	return strings.ToLower(agent[:end])
}
