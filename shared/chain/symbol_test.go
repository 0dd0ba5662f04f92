package chain

import "testing"

// TestSymbolsInAnyCase: the letters from a to z stand for their capitals, and nothing
// else does, though ſ and K (Kelvin) fold to s and k in Unicode.
func TestSymbolsInAnyCase(t *testing.T) {
	for name, want := range map[string]bool{
		"AMKSZ": true, "amksz": true, "aMkSz": true,
		"amks": false, "amkszz": false, "amks{": false, "`mksz": false, "amkſ": false, "amks\x3a": false, "": false,
	} {
		if got := sameSymbol("AMKSZ", name); got != want {
			t.Errorf("%q: got %t, want %t", name, got, want)
		}
	}
}
