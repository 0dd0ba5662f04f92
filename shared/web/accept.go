package web

import (
	"net/http"
	"strconv"
	"strings"
)

// PrefersHTML reports whether Accept asks for HTML by name, and not more for JSON. A
// star alone asks for neither: programs send it.
func PrefersHTML(h http.Header) bool {
	var html, json float64
	for _, header := range h.Values("Accept") {
		for item := range strings.SplitSeq(header, ",") {
			kind, params, _ := strings.Cut(item, ";")
			quality := 1.0
			for param := range strings.SplitSeq(params, ";") {
				if text, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(param)), "q="); ok {
					quality, _ = strconv.ParseFloat(text, 64) // 0 for what is no number
				}
			}
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "text/html":
				html = max(html, quality)
			case "application/json":
				json = max(json, quality)
			}
		}
	}
	return html > 0 && html >= json
}
