package web

import "strings"

// Minify leaves out of a script, a style sheet or a page what only its readers need: indentation, empty lines and
// comments that have lines of their own. No text in it may go over several lines.
func Minify(text string) string {
	var b strings.Builder
	inComment := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if inComment || strings.HasPrefix(line, "/*") {
			inComment = !strings.HasSuffix(line, "*/")
			continue
		}
		if line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "<!--") {
			continue
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// MinifyScript is Minify for a script, where a line break after one of {(,; means nothing either.
func MinifyScript(text string) string {
	var b strings.Builder
	for line := range strings.Lines(Minify(text)) {
		line = strings.TrimSuffix(line, "\n")
		b.WriteString(line)
		// A comment behind a statement ends with its line.
		if !strings.ContainsAny(line[len(line)-1:], "{(,;") || strings.Contains(line, "//") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
