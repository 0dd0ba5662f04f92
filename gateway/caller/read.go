package caller

import (
	"net/netip"
	"strconv"
	"strings"
)

const (
	maxOrigin  = 255
	maxProduct = 32
)

// canonicalOrigin returns scheme://host[:port] in lower case, without the default
// port, and "" for text without a valid host, such as "null" or "file://".
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

// only reports whether text is lower-case letters, digits and the extra bytes.
func only(text, extra string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}

// product is the first product of a User-Agent, in lower case.
func product(agent string) string {
	end := 0
	for end < len(agent) && end < maxProduct && agent[end] > ' ' && agent[end] < 0x7f && agent[end] != '/' {
		end++
	}
	return strings.ToLower(agent[:end])
}
