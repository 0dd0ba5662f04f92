package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/v3/client/internal/call"
)

var matches = regexp.MustCompile

// meanings say what it would mean that a field of a quote differs, by its path; the worst first. They are those of
// verify.js.
var meanings = []struct {
	path     *regexp.Regexp
	sentence string
}{
	{matches(`recipient$`), "The money would go to someone else"},
	{matches(`destToken\.chainId|dstChain|destinationDomain`), "The money would arrive on a different chain"},
	{matches(`destToken|dstToken`), "You would receive a different token"},
	{matches(`(srcToken|sendCalls)\.chainId|srcChain`), "You would pay on a different chain"},
	{matches(`srcToken|burnToken|approval\.token`), "You would pay with a different token"},
	{matches(`approval.*amount`), "You would approve a different amount"},
	{matches(`srcAmount|unshieldAmount|value$|[st]\.amount`), "You would pay a different amount"},
	{matches(`\bto$`), "You would pay a different contract"},
	{matches(`spender`), "Someone else could take your tokens"},
	{matches(`mintRecipient|hookData`), "The money would go to someone else"},
	{matches(`destAmount|arrival`), "A different amount would arrive"},
	{matches(`integratorId|integrator\.(id|address)`), "The integrator's fee would go to someone else"},
	{matches(`^fee|maxFee`), "The fee would be different"},
	{matches(`data|[cC]all|approval`), "The transaction would do something else"},
	{matches(``), "Something else would be different"},
}

// fromRequest are the first meanings: of what the request itself says.
const fromRequest = 7

// A difference is a field that is not what it must be.
type difference struct {
	path      string
	got, want any // as they are in JSON
}

// meaning is the place among meanings.
func (d difference) meaning() int {
	for i, m := range meanings {
		if m.path.MatchString(d.path) {
			return i
		}
	}
	return len(meanings) - 1
}

// sentence tells a person what the difference would mean, with the path at its end.
func (d difference) sentence() string {
	i := d.meaning()
	whose := "expected"
	if i < fromRequest {
		whose = "yours"
	}
	got, want, where := contrast(d.got, d.want)
	return fmt.Sprintf("%s. Quote: %s · %s: %s%s (%s)", meanings[i].sentence, got, whose, want, where, d.path)
}

// worstFirst gives the sentences of all differences, the worst first.
func worstFirst(found []difference) (all []error) {
	slices.SortFunc(found, func(a, b difference) int {
		return cmp.Or(cmp.Compare(a.meaning(), b.meaning()), cmp.Compare(a.sentence(), b.sentence()))
	})
	for _, d := range found {
		all = append(all, errors.New(d.sentence()))
	}
	return all
}

const (
	longestWhole = 42 // characters of a value that is shown as it is: those of an address
	aroundByte   = 16 // hexadecimal digits before and after the first byte that differs
)

var (
	notPlain   = regexp.MustCompile(`[^ !#-~]`)
	words      = regexp.MustCompile(`^[\w.]+$`)
	anAddress  = regexp.MustCompile(`^0x.{40}$`)
	inWord     = regexp.MustCompile(`^0x0{24}(.{40})$`) // an address in 32 bytes
	wholeBytes = regexp.MustCompile(`^0x([0-9a-f]{2})*$`)
)

// contrast shows two values that differ so that they look different too: of addresses as many characters as that takes,
// and of longer texts eight bytes around the first difference, and where that is.
func contrast(got, want any) (left, right, where string) {
	gotText, isGotText := got.(string)
	wantText, isWantText := want.(string)
	if !isGotText || !isWantText {
		return show(inOneCase(got)), show(inOneCase(want)), ""
	}
	a := notPlain.ReplaceAllString(lower(gotText), "\ufffd")
	b := notPlain.ReplaceAllString(lower(wantText), "\ufffd")
	are := func(form *regexp.Regexp) bool { return form.MatchString(a) && form.MatchString(b) }
	if are(inWord) {
		a = inWord.ReplaceAllString(a, "0x$1")
		b = inWord.ReplaceAllString(b, "0x$1")
	}
	mark := `"`
	if are(words) {
		mark = ""
	}
	gotRunes, wantRunes := []rune(a), []rune(b)
	first := 0
	for first < min(len(gotRunes), len(wantRunes)) && gotRunes[first] == wantRunes[first] {
		first++
	}
	switch {
	case are(anAddress):
		shown := max(first+1, 6)
		if first > 37 {
			shown = 6
		}
		return cutMiddle(gotRunes, shown), cutMiddle(wantRunes, shown), ""
	case max(len(gotRunes), len(wantRunes)) <= longestWhole:
		return mark + a + mark, mark + b + mark, ""
	}
	first -= first % 2
	if are(wholeBytes) {
		where = fmt.Sprintf(", at byte %d", first/2-1)
	}
	return excerpt(gotRunes, first, mark), excerpt(wantRunes, first, mark), where
}

// cutMiddle leaves so many characters at the start, and four at the end.
func cutMiddle(text []rune, shown int) string {
	return string(text[:shown]) + "…" + string(text[len(text)-4:])
}

// excerpt is the part of a text around a byte, between marks.
func excerpt(text []rune, first int, mark string) string {
	from, to := max(first-aroundByte, 0), min(first+2+aroundByte, len(text))
	shown := string(text[min(from, to):to])
	if from > 0 {
		shown = "…" + shown
	}
	if to < len(text) {
		shown += "…"
	}
	shown = mark + shown + mark
	if first > 0 && first >= len(text) {
		shown += " ends"
	}
	return shown
}

// problems is everything that is wrong with an answer.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// compare reports every field in which got differs from want, by its path in JSON.
func (p *problems) compare(path string, got, want any) {
	for _, d := range differences(path, tree(got), tree(want)) {
		p.add("%s: got %s, want %s", d.path, show(d.got), show(d.want))
	}
}

// tree is a value as it is in JSON: objects, lists, texts, numbers below highest, and missing.
func tree(value any) (decoded any) {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &decoded); err != nil {
		return err
	}
	return decoded
}

// missing is a field that is left out, which equals no value.
var missing any

// inWords says which values are right where several are. No answer has it.
type inWords string

// told are the fields that nobody can check, in objects that are expected. nameUnchecked tells of them.
var told = []string{"details.reason", "details.simulation", "details.simulationReason", "details.arrival.seconds"}

// copyFields puts fields into one tree as they are in another, wherever both have the object that they belong to.
func copyFields(into, from any, paths ...string) {
	for _, path := range paths {
		if value := field(from, path); value != missing {
			setField(into, path, value)
		}
	}
}

func field(tree any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		fields, _ := tree.(map[string]any)
		tree = fields[name]
	}
	return tree
}

// setField sets a field of an object that is there.
func setField(tree any, path string, value any) {
	name := path
	if i := strings.LastIndex(path, "."); i >= 0 {
		tree, name = field(tree, path[:i]), path[i+1:]
	}
	if fields, isObject := tree.(map[string]any); isObject {
		fields[name] = value
	}
}

var fieldNames = regexp.MustCompile(`^\w{1,24}$`)

// differences finds every field in which got differs from want. Hexadecimal digits are compared in any case. Of calls
// of the same function, the arguments are compared, and of hook data what it says.
func differences(path string, got, want any) (found []difference) {
	if gotFields, wantFields := fieldsOf(got, want); wantFields != nil {
		names := maps.Clone(gotFields)
		maps.Copy(names, wantFields)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			inner := name
			if !fieldNames.MatchString(name) { // an argument that there is not
				inner = quoted(name)
			}
			inner = strings.TrimPrefix(path+"."+inner, ".")
			found = append(found, differences(inner, gotFields[name], wantFields[name])...)
		}
		return found
	}
	gotList, isGotList := got.([]any)
	wantList, isWantList := want.([]any)
	if isGotList && isWantList {
		for i := range max(len(gotList), len(wantList)) {
			inner := fmt.Sprintf("%s.%d", path, i)
			switch {
			case i >= len(gotList):
				found = append(found, difference{inner, missing, wantList[i]})
			case i >= len(wantList):
				return append(found, difference{inner, gotList[i], missing})
			default:
				found = append(found, differences(inner, gotList[i], wantList[i])...)
			}
		}
		return found
	}
	if isEqual(got, want) {
		return nil
	}
	return []difference{{path, got, want}}
}

// fieldsOf gives the fields of two objects, or of two calls.
func fieldsOf(got, want any) (gotFields, wantFields map[string]any) {
	gotFields, isGotObject := got.(map[string]any)
	wantFields, isWantObject := want.(map[string]any)
	if isGotObject && isWantObject {
		return gotFields, wantFields
	}
	if isEqual(got, want) {
		return nil, nil
	}
	theirs, isCall := decodeCall(got)
	ours, isWantCall := decodeCall(want)
	if !isCall || !isWantCall || theirs.Function != ours.Function {
		return nil, nil
	}
	if theirs.Hook != nil && ours.Hook != nil {
		delete(theirs.Arguments, "hookData")
		delete(ours.Arguments, "hookData")
	}
	return tree(theirs).(map[string]any), tree(ours).(map[string]any)
}

// decodeCall reads calldata in its canonical encoding.
func decodeCall(value any) (DecodedCall, bool) {
	text, _ := value.(string)
	data, err := hexutil.Decode(lower(text))
	if err != nil || !strings.HasPrefix(text, "0x") {
		return DecodedCall{}, false
	}
	for _, method := range call.Methods {
		if !bytes.HasPrefix(data, method.ID) {
			continue
		}
		if args, err := call.Decode(method, data); err == nil {
			return explain(method, args), true
		}
	}
	return DecodedCall{}, false
}

// isEqual compares values that are no objects and no lists.
func isEqual(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return inOneCase(a) == inOneCase(b)
}

// inOneCase gives a value to be compared: of hexadecimal digits, the case does not count.
func inOneCase(value any) any {
	if text, isText := value.(string); isText {
		return lower(text)
	}
	return value
}

func show(value any) string {
	switch value := value.(type) {
	case string:
		return quoted(value)
	case inWords:
		return string(value)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	if value == missing {
		return "left out"
	}
	return fmt.Sprint(value)
}
