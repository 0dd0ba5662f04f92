package railgun

import (
	"encoding/hex"
	"errors"
	"fmt"
)

// knownAnswer is one note made by the public engine, with all that went into
// it. Byte strings are in hex.
type knownAnswer struct {
	what       string
	address    string
	viewingKey string // private, of the receiver
	secrets    string // random, shield private key, GCM IV, CTR IV
	recipient  string
}

var knownAnswers = []knownAnswer{
	{
		what:       "plain",
		address:    "0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa",
		viewingKey: "1ca1e63cc45ca8fd705fd7438b6a8869b9aaa7b2e333756f2768482f6b90ea10",
		secrets: "59c19c07226c37d5ea0d64d439fed390" +
			"91827eea204f6925c1bdd6a27c50ef3aacff6e456ea87b6a2b696be3ab52ce09" +
			"940a6f4d0b62f1a2e6ce198df62a4c32" +
			"67a0645692681f5739608f019c79541f",
		recipient: "1a2df3c0dbeca1273079aafd43be9a9182cfd3cf308b53b8e8f5b68dde9fd9ba" +
			"940a6f4d0b62f1a2e6ce198df62a4c326582db2d98658ea221ce5ea505228d8c" +
			"dc470c534c0812cc18967f72fadf040067a0645692681f5739608f019c79541f" +
			"35c091be979a3e48deb78cb2e2154cbe053fe7fa2de76963cf987b4708028c95" +
			"359a85e40214a096042926b22aca513e7996a6d4d76942cf0a58a641776e49fa",
	},
	{
		what:       "random with leading zeros",
		address:    "0zk1qyj8na7wudfj5ucl7g79plpksknvsdtg5ftcl4trcgz25lm3revx8rv7j6fe3z53laj3kx8qshdw4vyhlc2yjmgzdvgk7w067de60vsl3jcjz8rg85zrxm4cja6",
		viewingKey: "e705cca1c095b133d2f8d5901ed0afe54aba8f4fa5c7fc3eea75591ef697acc9",
		secrets: "00000000000000000000000000000001" +
			"c7851303ba5e0e2308d3efddfb496f33bc6a6c8a88119fe50c2c478c5e67a26a" +
			"b62cd009718580e957d74b534b791ab3" +
			"018df178ec3b8bb83f1b1e08104297b9",
		recipient: "235708670c9c7216dd1fc8a53ed10355a3397f7bba27679618b557185ff73b3a" +
			"b62cd009718580e957d74b534b791ab3f3632f6cf981bdfa6489d187a1ce97a8" +
			"69216b9f0b93e2dbbc18b296b5d101ca018df178ec3b8bb83f1b1e08104297b9" +
			"07008643a7b51fcacfec668b327253398b60cd5213a31fc3a139c43353b7db39" +
			"bbb62945f99db70ae45316914e2f84d2d9b6c4aca4deea8894d729a328b3f8a9",
	},
	{
		what:       "master public key with a leading zero byte",
		address:    "0zk1qyqvzue2f4uzkd90vm8j93fc5432am0va3v32xhph2twctmkffs4frv7j6fe3z53la46zgprk50jx7phrx4s02afrq0jlfmv0mcrqf3t9rc5d78ef87266j8q3f",
		viewingKey: "e64643488dd21b947fb3c662948c19e02075dd7728f3391ef52238e1e4242deb",
		secrets: "14767cb656ab91baedf8291fa8e44380" +
			"8e5e507f4e66bdad7b168c640e949920a7d21507a5209283975f0efa2837b073" +
			"83c584e31e6344da153ed09d1affb909" +
			"a62b630ed8ad8d5af9bc0fd451848491",
		recipient: "024f5303a98fa506e43ce800f7e7786629a0686d28285f077f27a0bb9ef2ac96" +
			"83c584e31e6344da153ed09d1affb909f6e77dd88ff4d77ac1968abf6f136429" +
			"e25c771c96a91eb16d378efd5c45988ba62b630ed8ad8d5af9bc0fd451848491" +
			"ddb53e58a75fc17909b573e17ae24bc2413ff8d503df954e588e26e8d7d89e28" +
			"6e8667b0d2971d96829c8d41f1ab193bf209136259b17d385d7e9c2a537bc90a",
	},
	{
		what:       "counter that wraps",
		address:    "0zk1qyyllllf2m750fxuz63z6dm5v67den55a59xexfdas9yff48pffwmrv7j6fe3z53ll60p7z4gpemm6f86n6kz57wl7d8z6ews0m7eefhe6jgkkz8dyx6ymj3ggg",
		viewingKey: "32a32355b5e050bc58e2aaf7281c76843de5113e528755b186450553ffcbf5fe",
		secrets: "5948510ef09e5b007a48f689f6f859f1" +
			"394ed4969506c78d34e8db2fc08b2093a03250ba3c747a98b780427cfae521aa" +
			"ffffffffffffffffffffffffffffffff" +
			"ffffffffffffffffffffffffffffffff",
		recipient: "24ac73292368bf294cbf8c36be0502237db331d23aee7b4022f674347afe3613" +
			"ffffffffffffffffffffffffffffffff3fc12e4e7c8b0a94110d25a019597046" +
			"9a92b386630926c3173aaa201e56bacfffffffffffffffffffffffffffffffff" +
			"03dddd5a1cb45d915f1121d991999231a49a7b4ab5ded5e3129ad5cc3e586495" +
			"a81c032a7a98edb6d6978b1f1b8dfd7611e6b0501eea7e424fc9e041103c6b8f",
	},
}

// SelfTest makes notes whose every byte is known from the public engine, and
// opens them as their receivers do. It takes about a millisecond.
func SelfTest() error {
	for _, known := range knownAnswers {
		if err := known.prove(); err != nil {
			return fmt.Errorf("railgun: known answer (%s): %w", known.what, err)
		}
	}
	return nil
}

func (k knownAnswer) prove() error {
	to, err := ParseAddress(k.address)
	if err != nil {
		return err
	}
	var s secrets
	var viewingKey [32]byte
	var recipient [recipientSize]byte
	if err := errors.Join(
		decodeHex(k.secrets, s.random[:], s.shieldPrivate[:], s.gcmIV[:], s.ctrIV[:]),
		decodeHex(k.viewingKey, viewingKey[:]),
		decodeHex(k.recipient, recipient[:]),
	); err != nil {
		return err
	}

	note, err := seal(to, &s)
	if err != nil {
		return err
	}
	if [recipientSize]byte(note.Recipient()) != recipient {
		return errors.New("note differs from that of the public engine")
	}
	if random, err := Open(viewingKey, note); err != nil || random != s.random {
		return errors.New("receiver cannot read the note")
	}
	return nil
}

// decodeHex fills the fields in turn from text, all of it.
func decodeHex(text string, fields ...[]byte) error {
	b, err := hex.DecodeString(text)
	if err != nil {
		return err
	}
	for _, field := range fields {
		b = b[copy(field, b):]
	}
	if len(b) != 0 {
		return errors.New("hex text is too long")
	}
	return nil
}
