package railgun

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

func TestSelfTest(t *testing.T) {
	if err := SelfTest(); err != nil || len(knownAnswers) != 4 {
		t.Errorf("got %v with %d known answers, want 4", err, len(knownAnswers))
	}
}

func TestSelfTestAnswersAreTheEngines(t *testing.T) {
	byAddress := map[string]validVector{}
	for _, v := range loadVectors(t).Valid {
		byAddress[v.Address] = v
	}
	for _, known := range knownAnswers {
		v, ok := byAddress[known.address]
		if !ok {
			t.Errorf("%s: no such vector", known.what)
			continue
		}
		secrets := bytes.Join([][]byte{v.Random, v.ShieldPrivateKey, v.GcmIV, v.CtrIV}, nil)
		if got, want := known.secrets, hex.EncodeToString(secrets); got != want {
			t.Errorf("%s: got secrets %s, want %s", known.what, got, want)
		}
		if got, want := known.viewingKey, hex.EncodeToString(v.ViewingKey); got != want {
			t.Errorf("%s: got viewing key %s, want %s", known.what, got, want)
		}
		if got, want := known.recipient, hex.EncodeToString(v.note().Recipient()); got != want {
			t.Errorf("%s: got recipient %s, want %s", known.what, got, want)
		}
	}
}

func TestSelfTestNoticesADifference(t *testing.T) {
	// Every field in turn, first and last digit.
	fields := map[string]func(*knownAnswer) *string{
		"address":     func(k *knownAnswer) *string { return &k.address },
		"viewing key": func(k *knownAnswer) *string { return &k.viewingKey },
		"secrets":     func(k *knownAnswer) *string { return &k.secrets },
		"recipient":   func(k *knownAnswer) *string { return &k.recipient },
	}
	for name, field := range fields {
		t.Run(name, func(t *testing.T) {
			for _, at := range []int{0, len(*field(&knownAnswers[0])) - 1} {
				k := knownAnswers[0]
				text := []byte(*field(&k))
				text[at] ^= 1 // another hex digit, or another letter
				*field(&k) = string(text)
				if k.prove() == nil {
					t.Errorf("a changed character %d is not noticed", at)
				}
			}
			for _, text := range []string{"", *field(&knownAnswers[0]) + "00", strings.Repeat("x", 8)} {
				k := knownAnswers[0]
				*field(&k) = text
				if k.prove() == nil {
					t.Errorf("%q is not noticed", text)
				}
			}
		})
	}
	if (knownAnswer{address: knownAnswers[0].address}).prove() == nil {
		t.Error("an answer without any bytes is taken for right")
	}
}
