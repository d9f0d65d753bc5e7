package redismatch

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/match"
)

// A record is decoded correctly whether this version or the standard encoder of
// earlier versions wrote it. The standard decoder and scripts can read what
// this version writes.
func TestRecordCodecAgreesWithStandardJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9_.:-]{0,30}`), rapid.StringMatching(`["\\ ,{}:a-z<é猫\n]{0,20}`))
		given := rapid.SampledFrom([]string{`{"choice":1}`, `{"choices":[0,2]}`, `{"value":1969}`, `{"value":"a\",\"given\":{}}"}`, `{"value":"猫"}`})
		number := rapid.Int64Range(-5, 1<<53)
		record := match.Record{
			Player: text.Draw(t, "player"), Question: rapid.IntRange(0, 100).Draw(t, "question"), Normalized: text.Draw(t, "normal"),
			Given: json.RawMessage(given.Draw(t, "given")), Correct: rapid.Bool().Draw(t, "correct"), ArrivedAt: number.Draw(t, "at"),
			ElapsedMS: number.Draw(t, "elapsed"), Points: number.Draw(t, "points"), SavedMS: number.Draw(t, "saved"),
			Node: text.Draw(t, "node"), First: rapid.Bool().Draw(t, "first"),
		}
		encoded := appendPoints(encodeRecord("a.1", record), record.Points)
		standard, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range [][]byte{encoded, standard} {
			if got, err := decodeRecord(string(raw)); err != nil || !reflect.DeepEqual(got, record) {
				t.Errorf("%s was read as %+v, %v", raw, got, err)
			}
		}
		var got match.Record
		if err := json.Unmarshal(encoded, &got); err != nil || !reflect.DeepEqual(got, record) {
			t.Errorf("the decoder reads %s as %+v, %v", encoded, got, err)
		}
	})
	for _, malformed := range []string{``, `{`, `{}x`, `{"player":"p`, `{"player":"p","question":1`} {
		if record, err := decodeRecord(malformed); err == nil {
			t.Errorf("%q was read as %+v", malformed, record)
		}
	}
}

// A seat is decoded correctly, with and without escapes.
func TestSeatIsDecoded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9 ]{0,30}`), rapid.StringMatching(`["\\ ,{}:a-z<é猫\n]{0,20}`))
		seat := match.Seat{Player: text.Draw(t, "player"), Nickname: text.Draw(t, "nickname"), Bot: rapid.Bool().Draw(t, "bot")}
		if rapid.Bool().Draw(t, "rated") {
			seat.Rating = &match.Rating{R: 1500}
		}
		raw, err := json.Marshal(seat)
		if err != nil {
			t.Fatal(err)
		}
		seat.Team = rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "team")
		if got, err := decodeSeat(seat.Team + "\n" + string(raw)); err != nil || !reflect.DeepEqual(got, seat) {
			t.Errorf("%s was read as %+v, %v", raw, got, err)
		}
	})
	for _, malformed := range []string{"", "x", "x\n{", "x\n{\"player\":\"p\""} {
		if seat, err := decodeSeat(malformed); err == nil {
			t.Errorf("%q was read as %+v", malformed, seat)
		}
	}
}
