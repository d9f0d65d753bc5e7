package protocol

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// FuzzDecodePlain checks that decodePlain decodes an answer as the decoder of the
// standard library does, or leaves the answer unchanged and returns false.
func FuzzDecodePlain(f *testing.F) {
	for _, seed := range []string{
		`{"match":"m_1","question":0,"choice":1}`, `{"question":12,"match":"m","value":"x"}`, `{"match":"m","value": {"a": [1] } }`,
		`{"match":"\u0041","question":1}`, `{"match":null,"question":null,"choice":null,"choices":null,"value":null}`, `{"question":1.0}`,
		`{"question":-0}`, `{"question":1e2}`, `{"choices":[0,2]}`, `{"question":4294967296}`, `{"match":"a","match":"b","question":1,"question":2}`,
		`{"match":"é"}`, `{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.ToValidUTF8(raw, nil)
		object, ok := splitObject(raw)
		if !ok || checkFields(reflect.TypeFor[Answer](), object, "answer") != nil {
			t.Skip("not an answer")
		}
		var got, want Answer
		if !got.decodePlain(object) {
			if !reflect.DeepEqual(got, Answer{}) {
				t.Fatalf("%s: left %+v", raw, got)
			}
			return
		}
		if err := json.Unmarshal(raw, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: read %+v, want %+v, %v", raw, got, want, err)
		}
	})
}

// The hand-written encoder and the standard library write equivalent JSON.
func TestFastEncodersAgreeWithStandardEncoder(t *testing.T) {
	t.Parallel()
	if own, answered := reflect.TypeFor[Own]().NumField(), reflect.TypeFor[Answered]().NumField(); own != 10 || answered != 5 {
		t.Errorf("the messages have %d and %d fields; encode and test the new ones", own, answered)
	}
	rapid.Check(t, func(t *rapid.T) {
		number, flag := rapid.Int64(), rapid.Bool()
		given := rapid.SampledFrom([]string{"", `{"choice":1}`, "{\"value\":\t\"a  b \u2028 <&>\"}", ` { "choices" : [ 0 , 2 ] } `, "null"}).Draw(t, "given")
		own := Own{
			Match: rapid.String().Draw(t, "match"), Question: rapid.Int().Draw(t, "question"), Correct: flag.Draw(t, "correct"),
			Points: number.Draw(t, "points"), Score: number.Draw(t, "score"), Rank: number.Draw(t, "rank"), ToNext: number.Draw(t, "to next"), Out: flag.Draw(t, "out"),
			ElapsedMS: rapid.Ptr(number, true).Draw(t, "elapsed"),
		}
		if given != "" {
			own.Given = json.RawMessage(given)
		}
		answered := Answered{
			Question: own.Question, At: number.Draw(t, "at"), ElapsedMS: own.Points,
			Correct: rapid.Ptr(flag, true).Draw(t, "right"), First: rapid.Ptr(flag, true).Draw(t, "first"),
		}
		for _, message := range []any{own, answered, AnswerSeen{Question: own.Question, Player: own.Match}} {
			if got, want := string(appendData([]byte("before"), message)), "before"+string(EncodeJSON(message)); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
	})
}

// Answers as players usually send them are decoded without the standard library.
func TestUsualAnswersAreDecodedPlain(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"match":"m_1","question":3,"choice":1}`, `{"match":"m_1","question":3,"value":"Paris"}`} {
		if object, ok := splitObject([]byte(raw)); !ok || !new(Answer).decodePlain(object) {
			t.Errorf("%s is not decoded", raw)
		}
	}
}
