package answer

import (
	"io/fs"
	"strings"
	"testing"
)

func TestCompose(t *testing.T) {
	for name, test := range map[string]struct{ own, want string }{
		"nothing":     {"", ""},
		"no part":     {"paths:\n  # a comment\n", "paths:\n  # a comment\n"},
		"no line end": {"paths:", "paths:"},
	} {
		if got := compose("v9", test.own); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	files, err := fs.Glob(parts, "contract/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no parts (%v)", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "contract/"), ".yaml")
		got := compose("v9", "before\n    # part: "+name+"\nafter\n")
		placed := strings.HasPrefix(got, "before\n ") && strings.HasSuffix(got, "\nafter\n")
		if !placed || strings.Contains(got, "# part") {
			t.Errorf("%s is not put in its place", name)
		}
		if strings.Contains(got, "{version}") {
			t.Errorf("%s does not name the version", name)
		}
	}
	renamed := compose("v9", "# part: schemas-rest destAmount=dstAmount Amount=x\n")
	if strings.Contains(renamed, "`destAmount`") || strings.Count(renamed, "`dstAmount`") != 3 {
		t.Errorf("a renamed field keeps its name")
	}
	defer func() {
		if recover() == nil {
			t.Error("a part that is not there is left out")
		}
	}()
	compose("v9", "# part: none\n")
}
