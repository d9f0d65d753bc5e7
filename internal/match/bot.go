package match

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// NewBot returns the seat of a new bot.
func NewBot() Seat {
	name := botNames[rand.N(len(botNames))] //nolint:gosec // a name is no secret
	return Seat{Player: "bot_" + newID(), Nickname: name, Bot: true}
}

var botNames = []string{"Robo Ada", "Robo Blaise", "Robo Grace", "Robo Kurt", "Robo Zu", "Robo Emmy", "Robo Alan", "Robo Sofia"}

// botRightProbability is the probability that a bot is right, by difficulty.
var botRightProbability = map[quiz.Difficulty]float64{quiz.Easy: 0.8, quiz.Medium: 0.6, quiz.Hard: 0.4}

// planBotAnswer returns when a bot answers a question, and what. Both depend
// only on match, question and seat. Every node that plays the bot computes the
// same, and the store accepts only one answer.
func planBotAnswer(plan *Plan, question int, player string) (time.Duration, protocol.Given) {
	hash := fnv.New64a()
	hash.Write([]byte(plan.ID + "/" + player + "/" + strconv.Itoa(question)))
	rng := rand.New(rand.NewPCG(hash.Sum64(), 1)) //nolint:gosec // the choices of a bot need no secrecy
	q := plan.Questions[question]
	wait := time.Duration(float64(plan.LimitMS)*(0.15+0.45*rng.Float64())) * time.Millisecond
	return wait, botAnswerContent(q, rng.Float64() < botRightProbability[q.Difficulty], rng)
}

func botAnswerContent(drawn quiz.DrawnQuestion, isRight bool, rng *rand.Rand) protocol.Given {
	switch drawn.Kind {
	case quiz.Single, quiz.Boolean:
		choice := drawn.RightIndexes()[0]
		if !isRight {
			choice = (choice + 1 + rng.IntN(len(drawn.Question.Choices)-1)) % len(drawn.Question.Choices)
		}
		return protocol.Given{Choice: &choice}
	case quiz.Multiple:
		if isRight {
			return protocol.Given{Choices: drawn.RightIndexes()}
		}
		return protocol.Given{Choices: []int{rng.IntN(len(drawn.Question.Choices))}}
	case quiz.Number:
		value := drawn.Target.Value
		if !isRight {
			value += drawn.Target.Tolerance + 1 + float64(rng.IntN(20))
		}
		return protocol.Given{Value: json.RawMessage(strconv.FormatFloat(value, 'f', -1, 64))}
	}
	text := "?"
	if isRight {
		text = drawn.Accepted[0]
	}
	value, _ := json.Marshal(text) // a string always encodes
	return protocol.Given{Value: value}
}

// bots plays the bots of duels.
type bots struct{ *judge }

// scheduleBots schedules the bots' answers to the open question, once per
// question.
func (b *bots) scheduleBots(local *localMatch) {
	local.mu.Lock()
	defer local.mu.Unlock()
	question, opensAt := local.state.Question, local.state.OpensAt
	if local.state.Phase != PhaseOpen || question == local.lastBotsQuestion {
		return
	}
	local.lastBotsQuestion = question
	for _, seat := range local.plan.Seats {
		if !seat.Bot {
			continue
		}
		wait, given := planBotAnswer(local.plan, question, seat.Player)
		wait -= time.Duration(b.Now()-opensAt) * time.Millisecond
		b.Wheel.After(wait, func() { b.submitBotAnswer(local, seat.Player, question, given) })
	}
}

// submitBotAnswer submits an answer. After an error it retries while the question is open.
func (b *bots) submitBotAnswer(local *localMatch, player string, question int, given protocol.Given) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	_, followUp, err := b.Answer(ctx, Submission{
		Player: player, ArrivedAt: b.Now(),
		Answer: protocol.Answer{Match: local.plan.ID, Question: &question, Given: given},
	})
	if err != nil && local.mayTakeAnswer(question) {
		b.Logger.Debug("bot answer failed; retrying", "match", local.plan.ID, "error", err)
		b.Wheel.After(storeRetryDelay, func() { b.submitBotAnswer(local, player, question, given) })
	}
	followUp()
}
