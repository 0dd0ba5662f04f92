package admin

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

const day = 24 * time.Hour

// clean replaces what a reader cannot see, such as marks that turn the direction
// of text around.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return ' '
		}
		if !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

const (
	shortHead = 30
	shortTail = 12
)

// short leaves out the middle of a long text.
func short(text string) string {
	runes := []rune(clean(text))
	if len(runes) <= shortHead+shortTail+1 {
		return string(runes)
	}
	return string(runes[:shortHead]) + "…" + string(runes[len(runes)-shortTail:])
}

// coord writes a coordinate of a picture in as few bytes as possible.
func coord(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
