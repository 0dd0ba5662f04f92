package buildinfo_test

import (
	"runtime/debug"
	"testing"

	"github.com/quotegate/quotegate/shared/buildinfo"
)

func TestOf(t *testing.T) {
	whole := &debug.BuildInfo{
		Main:     debug.Module{Path: "example.org/m", Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
	}
	for name, tt := range map[string]struct {
		info *debug.BuildInfo
		want buildinfo.Facts
	}{
		"nothing":    {&debug.BuildInfo{}, buildinfo.Facts{Version: "unknown", Module: "unknown", Revision: "unknown", Modified: "unknown"}},
		"everything": {whole, buildinfo.Facts{Version: "v1.2.3", Module: "example.org/m", Revision: "abc", Modified: "true"}},
	} {
		if got := buildinfo.Of(tt.info); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}
