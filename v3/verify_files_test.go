package v3_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// note stands for the 160 bytes that the exchanges on record leave out. verify.js cannot open a note, so any do.
var note = strings.Repeat("5a", 160)

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, folder, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func decodeFile(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(readFile(t, path)), "(note)", note)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// readExchange gives the query of an exchange on record, and its body if it is a 200 in JSON.
func readExchange(t *testing.T, path string) (query map[string]string, body []byte) {
	t.Helper()
	request, answer, _ := strings.Cut(string(readFile(t, path)), "\n\n")
	head, content, _ := strings.Cut(answer, "\n\n")
	line, _, _ := strings.Cut(request, "\n")
	_, target, _ := strings.Cut(line, " ")
	at, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	query = map[string]string{}
	for name, values := range at.Query() {
		query[name] = values[0]
	}
	if strings.HasPrefix(head, "200\n") && strings.HasPrefix(content, "{") {
		body = []byte(strings.ReplaceAll(content, "(note)", note))
	}
	return query, body
}

// readVectors gives the calldata that other libraries encoded, and what it must decode to.
func readVectors(t *testing.T) (calldata []string, decoded []decodedCall) {
	t.Helper()
	type hook struct {
		DstChainID                        uint64
		DstToken, IntegratorID, Recipient string
		RecipientType                     uint8
	}
	var vectors struct {
		Swaps []struct {
			hook
			Amount, Calldata string
		}
		Approvals []struct{ Spender, Amount, Calldata string }
		Burns     []struct {
			Amount, Receiver, BurnToken, MaxFee, Calldata string
			DestinationDomain                             uint32
			Hook                                          hook
		}
	}
	decodeFile(t, "../testdata/calldata/vectors.json", &vectors)
	fields := func(h hook) map[string]string {
		return map[string]string{
			"dstChainId": fmt.Sprint(h.DstChainID), "dstToken": strings.ToLower(h.DstToken), "integratorId": h.IntegratorID,
			"recipientType": fmt.Sprint(h.RecipientType), "recipient": strings.ToLower(h.Recipient),
		}
	}
	add := func(data string, call decodedCall) {
		calldata, decoded = append(calldata, data), append(decoded, call)
	}
	for _, v := range vectors.Swaps {
		arguments := fields(v.hook)
		arguments["amount"] = v.Amount
		add(v.Calldata, decodedCall{"swap(uint256,uint256,bytes,uint8,address,bytes32)", arguments, nil})
	}
	for _, v := range vectors.Approvals {
		add(v.Calldata, decodedCall{"approve(address,uint256)", map[string]string{"spender": strings.ToLower(v.Spender), "amount": v.Amount}, nil})
	}
	for _, v := range vectors.Burns {
		receiver := "0x" + strings.Repeat("0", 24) + strings.ToLower(v.Receiver[2:])
		h := fields(v.Hook)
		packed := fmt.Sprintf("0x%064x%s%s%02x%s", v.Hook.DstChainID, h["dstToken"][2:], h["integratorId"][2:], v.Hook.RecipientType, h["recipient"][2:])
		add(v.Calldata, decodedCall{"depositForBurnWithHook(uint256,uint32,bytes32,address,bytes32,uint256,uint32,bytes)", map[string]string{
			"amount": v.Amount, "destinationDomain": fmt.Sprint(v.DestinationDomain), "mintRecipient": receiver,
			"burnToken": strings.ToLower(v.BurnToken), "destinationCaller": receiver, "maxFee": v.MaxFee,
			"minFinalityThreshold": "1000", "hookData": packed,
		}, h})
	}
	if len(calldata) < 15 {
		t.Fatalf("only %d vectors", len(calldata))
	}
	// What is none of ours decodes to null.
	for _, data := range []string{"", "0x", "0x12345678", calldata[0] + "00", calldata[0][:len(calldata[0])-2], strings.Replace(calldata[0], "c0", "e0", 1)} {
		add(data, decodedCall{})
	}
	return calldata, decoded
}

func marshal(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
