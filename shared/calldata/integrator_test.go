package calldata_test

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/fault"
)

const (
	checksummed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" // from EIP-55
	leftZeros   = "000000000000000000000000"
)

func TestParseIntegratorID(t *testing.T) {
	want := calldata.IntegratorID(common.HexToHash(checksummed))
	for name, text := range map[string]string{
		"address":                checksummed,
		"lower case":             strings.ToLower(checksummed),
		"upper case":             "0x" + strings.ToUpper(checksummed[2:]),
		"32 bytes":               "0x" + leftZeros + strings.ToLower(checksummed[2:]),
		"32 bytes, upper case":   "0x" + leftZeros + strings.ToUpper(checksummed[2:]),
		"32 bytes, checksummed":  "0x" + leftZeros + checksummed[2:],
		"what String made of it": want.String(),
	} {
		if got, err := calldata.ParseIntegratorID(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
	if got := want.String(); got != "0x"+leftZeros+strings.ToLower(checksummed[2:]) {
		t.Errorf("String gives %s", got)
	}
}

func TestParseIntegratorIDRefuses(t *testing.T) {
	wrongCase := strings.Replace(checksummed, "aA", "AA", 1)
	for name, test := range map[string]struct{ text, says string }{
		"nothing":                {"", "must be a wallet address"},
		"no prefix":              {checksummed[2:], "must be a wallet address"},
		"32 bytes, no prefix":    {leftZeros + checksummed[2:], "must be a wallet address"},
		"a digit short":          {checksummed[:41], "must be a wallet address"},
		"a digit too many":       {checksummed + "0", "must be a wallet address"},
		"31 bytes":               {"0x" + leftZeros[2:] + checksummed[2:], "must be a wallet address"},
		"33 bytes":               {"0x00" + leftZeros + checksummed[2:], "must be a wallet address"},
		"a name":                 {"partner", "must be a wallet address"},
		"blanks around it":       {" " + checksummed + " ", "must be a wallet address"},
		"another prefix":         {"0X" + checksummed[2:], "0x followed by 40 hexadecimal digits"},
		"no hex":                 {"0xZ" + checksummed[3:], "0x followed by 40 hexadecimal digits"},
		"checksum":               {wrongCase, "The integrator ID has a typo: its EIP-55 checksum"},
		"32 bytes, checksum":     {"0x" + leftZeros + wrongCase[2:], "The integrator ID has a typo: its EIP-55 checksum"},
		"32 bytes, no hex":       {"0x" + leftZeros + "Z" + checksummed[3:], "0x followed by 40 hexadecimal digits"},
		"32 bytes, other":        {"0x" + strings.Repeat("0", 23) + "1" + checksummed[2:], "first 12 bytes must be zero"},
		"32 bytes, padded right": {checksummed + leftZeros, "first 12 bytes must be zero"},
		"32 bytes, prefix":       {"0X" + leftZeros + checksummed[2:], "must be a wallet address"},
		"zero":                   {"0x" + strings.Repeat("0", 40), "is zero"},
		"32 zero bytes":          {"0x" + strings.Repeat("0", 64), "is zero"},
	} {
		id, err := calldata.ParseIntegratorID(test.text)
		if id != (calldata.IntegratorID{}) {
			t.Errorf("%s: got %v, want none", name, id)
		}
		e := fault.From(err)
		if err == nil || e.Code != fault.InvalidIntegrator || e.Param != "" || !strings.Contains(e.Message, test.says) {
			t.Errorf("%s: got %v, want %s saying %q", name, err, fault.InvalidIntegrator, test.says)
		}
	}
}

func FuzzParseIntegratorID(f *testing.F) {
	f.Add(checksummed)
	f.Add("0x" + leftZeros + checksummed[2:])
	f.Fuzz(func(t *testing.T, text string) {
		id, err := calldata.ParseIntegratorID(text)
		if err != nil {
			if fault.From(err).Code != fault.InvalidIntegrator || id != (calldata.IntegratorID{}) {
				t.Errorf("%q: got %v, %v", text, id, err)
			}
			return
		}
		if id == (calldata.IntegratorID{}) || !calldata.IsZero(id[:12]) {
			t.Errorf("%q: got %v", text, id)
		}
		digits := strings.ToLower(text[2:])
		if got := id.String(); got != "0x"+strings.Repeat("0", 64-len(digits))+digits {
			t.Errorf("%q: got %s", text, got)
		}
		if again, err := calldata.ParseIntegratorID(id.String()); err != nil || again != id {
			t.Errorf("%q: %v is read as %v, %v", text, id, again, err)
		}
	})
}
