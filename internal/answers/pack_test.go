package answers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// givenAnswers generates given answers of every kind.
func givenAnswers() *rapid.Generator[*protocol.Given] {
	return rapid.Custom(func(t *rapid.T) *protocol.Given {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return &protocol.Given{Choice: new(rapid.IntRange(0, 7).Draw(t, "choice"))}
		case 2:
			return &protocol.Given{Choices: rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 1, 8, rapid.ID[int]).Draw(t, "choices")}
		case 3:
			return &protocol.Given{Value: json.RawMessage(fmt.Sprint(rapid.Float64().Draw(t, "number")))}
		}
		raw, _ := json.Marshal(strings.ReplaceAll(rapid.StringN(0, 100, -1).Draw(t, "text"), "\x00", ""))
		return &protocol.Given{Value: raw}
	})
}

// text returns a given answer with a JSON text.
func text(raw string) *protocol.Given { return &protocol.Given{Value: json.RawMessage(raw)} }

// blockAnswers generates the answers of a block, in the order of positions.
func blockAnswers(block int) *rapid.Generator[[]Answer] {
	return rapid.Custom(func(t *rapid.T) []Answer {
		positions := rapid.SliceOfNDistinct(rapid.IntRange(0, 100*BlockPlayers-1), 0, 60, rapid.ID[int]).Draw(t, "positions")
		slices.Sort(positions)
		var all []Answer
		for _, position := range positions {
			elapsed := rapid.Int64Range(0, 1_200_000).Draw(t, "elapsed")
			all = append(all, Answer{
				Player: block*BlockPlayers + position%BlockPlayers, Question: position / BlockPlayers, Given: givenAnswers().Draw(t, "given"),
				Correct: rapid.Bool().Draw(t, "correct"), Retracted: rapid.Bool().Draw(t, "retracted"),
				ElapsedMS: elapsed, Points: rapid.Int64Range(-1e6, 1e6).Draw(t, "points"), ArrivedAt: rapid.Int64Range(0, 1<<53).Draw(t, "at"),
			})
		}
		return all
	})
}

func TestUnpackReversesPack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.IntRange(0, 999).Draw(t, "block")
		want := blockAnswers(block).Draw(t, "answers")
		shuffled := slices.Clone(want)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		packed, texts, err := Pack(shuffled)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Unpack(block, packed, texts)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

func TestUnpackRefusesMalformedBytes(t *testing.T) {
	t.Parallel()
	packed, texts, err := Pack([]Answer{{Given: text(`"moon"`), ElapsedMS: 1000, Points: 150, ArrivedAt: 1_800_000_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(packed); cut++ {
		if _, err := Unpack(0, packed[:cut], texts); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes: %v", cut, len(packed), err)
		}
	}
	for _, texts := range []string{"", "[]", "{}"} {
		if _, err := Unpack(0, packed, texts); !errors.Is(err, ErrMalformed) {
			t.Errorf("texts %q: %v", texts, err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{0, 4, 232, 7, 200, 1, 0}, "[]")
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 12, 1, 1, 1}, `["a"]`)
	f.Fuzz(func(_ *testing.T, packed []byte, texts string) {
		_, _ = Unpack(0, packed, texts)
		_, _ = UnpackQuestions(packed)
	})
}

func TestPackRefusesAnswersThatItCannotStore(t *testing.T) {
	t.Parallel()
	good := Answer{Player: 7, Question: 1, Given: &protocol.Given{Choice: new(1)}}
	for name, bad := range map[string]Answer{
		"twice":            good,
		"negative elapsed": {Player: 8, ElapsedMS: -1},
		"no answer":        {Player: 8, Given: &protocol.Given{}},
		"negative choice":  {Player: 8, Given: &protocol.Given{Choice: new(-1)}},
		"large choices":    {Player: 8, Given: &protocol.Given{Choices: []int{8}}},
		"broken UTF-8":     {Player: 8, Given: text("\"\xff\"")},
	} {
		if _, _, err := Pack([]Answer{good, bad}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// PostgreSQL cannot read a NUL character in JSON.
func TestNULInATextIsReplaced(t *testing.T) {
	t.Parallel()
	packed, texts, err := Pack([]Answer{{Given: text(`"a\u0000b"`)}, {Player: 1, Given: text(`"\\u0000"`)}})
	if err != nil || strings.Contains(strings.ReplaceAll(texts, `\\u0000`, ""), `\u0000`) {
		t.Fatalf("texts %s, %v", texts, err)
	}
	got, err := Unpack(0, packed, texts)
	if err != nil || string(got[0].Given.Value) != `"a�b"` || string(got[1].Given.Value) != `"\\u0000"` {
		t.Errorf("%+v, %v", got, err)
	}
}

// drawnQuestions generates questions with choices in any order, and some without.
func drawnQuestions() *rapid.Generator[quiz.DrawnQuestion] {
	return rapid.Custom(func(t *rapid.T) quiz.DrawnQuestion {
		q := quiz.Question{ID: rapid.StringMatching(`q[0-9]{1,3}`).Draw(t, "id"), Kind: quiz.Multiple, Text: "Which?"}
		q.Choices = rapid.SliceOfN(rapid.StringMatching(`[ab]{0,2}`), 0, 8).Draw(t, "choices") // some are equal
		for i := range q.Choices {
			if rapid.Bool().Draw(t, "right") {
				q.RightIndexes = append(q.RightIndexes, i)
			}
		}
		return q.Shuffle(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
	})
}

// Matches with the same question in different orders have one original, and each gets its
// own order back.
func TestMatchesShareTheOriginalOfAQuestion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := drawnQuestions().Draw(t, "question")
		other := first.Shuffle(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)))
		original, order := first.Original()
		otherOriginal, otherOrder := other.Original()
		if !reflect.DeepEqual(original, otherOriginal) {
			t.Fatalf("%+v\n%+v", original, otherOriginal)
		}
		asked := []AskedQuestion{{ID: rapid.Int64Range(1, 1<<40).Draw(t, "number"), Order: order}, {ID: 2, Order: otherOrder}}
		unpacked, err := UnpackQuestions(PackQuestions(asked))
		if err != nil || len(unpacked) != 2 || unpacked[0].ID != asked[0].ID {
			t.Fatalf("%+v, %v", unpacked, err)
		}
		for i, drawn := range []quiz.DrawnQuestion{first, other} {
			again := original.InOrder(unpacked[i].Order)
			if !slices.Equal(again.Choices(), drawn.Choices()) || !slices.Equal(again.RightIndexes(), drawn.RightIndexes()) {
				t.Fatalf("%q %v, want %q %v", again.Choices(), again.RightIndexes(), drawn.Choices(), drawn.RightIndexes())
			}
		}
	})
}
