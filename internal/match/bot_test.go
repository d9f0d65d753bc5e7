package match

import (
	"math/rand/v2"
	"testing"
	"time"

	"laststand/internal/protocol"

	"pgregory.net/rapid"
)

// A bot always gives a well-formed answer. It is right or wrong as intended.
func TestBotGiven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.SampledFrom(samples).Draw(t, "question")
		right := rapid.Bool().Draw(t, "right")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		normal, err := q.Normalize(toQuizGiven(protocol.Answer{Given: botAnswerContent(q, right, rng)}))
		if err != nil {
			t.Fatal(err)
		}
		if q.IsCorrect(normal) != right {
			t.Fatalf("%s: %s is right: %v, want %v", q.Kind, normal, !right, right)
		}
	})
}

func TestBotsPlayAlikeOnEveryNode(t *testing.T) {
	t.Parallel()
	plan := newPlan("m_1", 0, 5)
	waits := map[time.Duration]bool{}
	for i := range plan.Questions {
		first, given := planBotAnswer(plan, i, "bot_1")
		again, same := planBotAnswer(plan, i, "bot_1")
		if first != again || encoded(t, given) != encoded(t, same) {
			t.Errorf("question %d: after %v, after %v", i, first, again)
		}
		if first < 1500*time.Millisecond || first > 6*time.Second {
			t.Errorf("question %d: after %v", i, first)
		}
		waits[first] = true
	}
	if len(waits) < 2 {
		t.Error("a bot always takes the same time")
	}
}
