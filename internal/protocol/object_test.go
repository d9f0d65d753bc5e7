package protocol

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"
)

// FuzzSplitObject checks that splitObject splits an object as the decoder of the
// standard library does.
func FuzzSplitObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { "a" : 1 , "b":[1,{"c":"}"}] ,"a":null} `, `{"\u0061\"":"\\","":"a\"b,","n":-1e5}`, `{"a":[]}x`, `{"a":1,}`, `[{}]`,
		"{\"a\":\t{\"b\":{}}\r\n}", `null`, ``, `{"a"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.ToValidUTF8(raw, nil)
		var want map[string]json.RawMessage
		isObject := json.Unmarshal(raw, &want) == nil && want != nil
		object, ok := splitObject(raw)
		if ok != isObject {
			t.Fatalf("splitObject(%q) returns %v, want %v", raw, ok, isObject)
		}
		got := make(map[string]json.RawMessage, len(object))
		for _, member := range object {
			got[string(member.name)] = object.value(string(member.name))
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("splitObject(%q) = %q, want %q", raw, got, want)
		}
	})
}
