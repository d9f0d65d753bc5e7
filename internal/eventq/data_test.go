package eventq

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestIsCompactObject(t *testing.T) {
	t.Parallel()
	for _, usual := range []string{`{"a":1}`, `{"match":"m 1","rank":0,"mode":"duel"}`} {
		if !isCompactObject([]byte(usual)) {
			t.Errorf("%s is not flat", usual)
		}
	}
	piece := rapid.SampledFrom([]string{`{`, `}`, `"a"`, `"`, `:`, `,`, `0`, `17`, ` `, "\n", `\`, `[`, `é`, "\xff", "\x00"})
	rapid.Check(t, func(t *rapid.T) {
		object := []byte{}
		for _, piece := range rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces") {
			object = append(object, piece...)
		}
		object = rapid.SampledFrom([][]byte{object, []byte(`{"a":` + string(object) + `}`), []byte(`{"a":"` + string(object) + `","b":3}`)}).Draw(t, "object")
		var compact bytes.Buffer
		if err := json.Compact(&compact, object); isCompactObject(object) && (err != nil || !bytes.Equal(compact.Bytes(), object)) {
			t.Errorf("%q is not compact JSON: %v", object, err)
		}
	})
}
