package web_test

import (
	"testing"

	"github.com/quotegate/quotegate/shared/web"
)

func TestSqueeze(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":            {"", ""},
		"indentation":        {"if (a) {\n  b();\n\tc();\n}\n", "if (a) {\nb();\nc();\n}\n"},
		"empty lines":        {"a\n\n  \nb", "a\nb\n"},
		"a comment":          {"// says why\na // stays\n", "a // stays\n"},
		"comments in blocks": {"/**\n * says why\n * a\n */\na\n/** one line */\nb\n", "a\nb\n"},
		"a comment of HTML":  {"<!-- why -->\n<p>\n", "<p>\n"},
		"an address":         {"const at = 'https://a.example/*';\n", "const at = 'https://a.example/*';\n"},
	} {
		if got := web.Minify(tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestSqueezeScript(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":          {"", ""},
		"statements":       {"if (a) {\n  b();\n  c(\n    d,\n    e)\n}\n", "if (a) {b();c(d,e)\n}\n"},
		"no semicolon":     {"a\n(b)\n", "a\n(b)\n"},
		"a comment":        {"// why;\na(); // why;\nb();\n", "a(); // why;\nb();"},
		"an address":       {"const at = 'https://a.example';\nb();\n", "const at = 'https://a.example';\nb();"},
		"a text over many": {"a('b, ' +\n  'c');\n", "a('b, ' +\n'c');"},
	} {
		if got := web.MinifyScript(tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
