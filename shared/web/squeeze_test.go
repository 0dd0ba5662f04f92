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
		if got := web.Squeeze(tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
