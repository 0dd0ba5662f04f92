package lifecycle

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
)

const maxLink = 1024

// successor reads the path a version sends its clients to. Its result is empty
// if there is a fault.
func (p *parser) successor(at, name string, raw json.RawMessage) string {
	text, ok := p.text(at, raw)
	if !ok {
		return ""
	}
	segments := strings.Split(text, "/")
	switch {
	case !strings.HasPrefix(text, "/") || len(text) > maxLink || path.Clean(text) != text || !isPlain(text, "/-._~"):
		p.fault("%s: %.80q is not a plain path on this host, like /v3/swap/quote", at, text)
	case slices.Contains(segments, name):
		p.fault("%s: %q belongs to %s itself", at, text, name)
	case versionIn(text, p.known) == "":
		p.fault("%s: %q leads to no version this gateway serves, which are %s", at, text, strings.Join(p.known, ", "))
	default:
		return text
	}
	return ""
}

// successors makes sure that no client is sent to a version that is gone by
// then, nor round in a circle.
func (p *parser) successors(plan *Plan) {
	for _, name := range sortedKeys(plan.Versions) {
		s := plan.Versions[name]
		next := versionIn(s.Successor, p.known)
		after := plan.Versions[next]
		if next == name || after == nil {
			continue
		}
		at := "versions." + name + ".successor"
		if !after.Sunset.IsZero() && (s.Sunset.IsZero() || !after.Sunset.After(s.Sunset)) {
			p.fault("%s: %s has its own sunset, %s, which is not after that of %s", at, next, stamp(after.Sunset), name)
			continue
		}
		for range plan.Versions {
			if next == name {
				p.fault("%s: leads back to %s in the end", at, name)
				break
			}
			if after = plan.Versions[next]; after == nil {
				break
			}
			next = versionIn(after.Successor, p.known)
		}
	}
}

// versionIn is the version that a path belongs to: its first segment that is
// the name of one.
func versionIn(text string, known []string) string {
	for segment := range strings.SplitSeq(text, "/") {
		if slices.Contains(known, segment) {
			return segment
		}
	}
	return ""
}

// docs reads the address of a migration page.
func (p *parser) docs(at string, raw json.RawMessage) string {
	text, ok := p.text(at, raw)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || len(text) > maxLink || !isPlain(text, ":/?#[]@!$&'()*+,;=-._~%") {
		p.fault("%s: %.80q is not an https address, like https://example.org/migrate-v1", at, text)
	}
	return text
}

// isPlain says whether text is ASCII letters, digits and the extra bytes: what
// may stand between the angle brackets of a Link header.
func isPlain(text, extra string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}
