package client

import (
	"regexp"
	"strings"
)

const (
	longestQuoted  = 60  // characters of a gateway's text inside a sentence of this package
	longestRefusal = 300 // and of a sentence of its own
	keptAtEnd      = 20  // of a text that is cut, so that two addresses or hashes can be told apart
)

// unseen are the characters that control a terminal, that nobody sees, or that change the order in which the others are
// read, and the letters that are written from right to left. verify.js has the same.
var unseen = regexp.MustCompile(`[\x00-\x1f\x7f-\x9f\xad\x{590}-\x{8ff}\x{180e}\x{200b}-\x{200f}\x{2028}-\x{202e}` +
	`\x{2060}-\x{206f}\x{fb1d}-\x{fdff}\x{fe70}-\x{feff}\x{fff0}-\x{fffc}\x{10800}-\x{10fff}\x{1e800}-\x{1efff}` +
	`\x{e0000}-\x{e0fff}]`)

// plain is a text of a gateway as a person may be shown it. What is too long is cut.
func plain(text string, most int) string {
	letters := []rune(unseen.ReplaceAllString(text, "\ufffd"))
	if len(letters) <= most {
		return string(letters)
	}
	return string(letters[:most-keptAtEnd-1]) + "…" + string(letters[len(letters)-keptAtEnd:])
}

// quoted is a text of a gateway as it stands in a sentence of this package. It cannot end the quotation.
func quoted(text string) string { return quotedUpTo(longestQuoted, text) }

func quotedUpTo(most int, text string) string {
	return `"` + strings.ReplaceAll(plain(text, most), `"`, "'") + `"`
}
