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

// botSkill is the probability that a bot is right, by difficulty.
var botSkill = map[quiz.Difficulty]float64{quiz.Easy: 0.8, quiz.Medium: 0.6, quiz.Hard: 0.4}

// planBotAnswer returns when a bot answers a question, and what. Both depend
// only on match, question and seat. Every node that plays the bot computes the
// same, and the store accepts only one answer.
func planBotAnswer(p *Plan, question int, player string) (time.Duration, protocol.Given) {
	h := fnv.New64a()
	h.Write([]byte(p.ID + "/" + player + "/" + strconv.Itoa(question)))
	rng := rand.New(rand.NewPCG(h.Sum64(), 1)) //nolint:gosec // the choices of a bot need no secrecy
	q := p.Questions[question]
	wait := time.Duration(float64(p.LimitMS)*(0.15+0.45*rng.Float64())) * time.Millisecond
	return wait, botGiven(q, rng.Float64() < botSkill[q.Difficulty], rng)
}

func botGiven(q quiz.Drawn, right bool, rng *rand.Rand) protocol.Given {
	switch q.Kind {
	case quiz.Single, quiz.Boolean:
		choice := q.Right()[0]
		if !right {
			choice = (choice + 1 + rng.IntN(len(q.Question.Choices)-1)) % len(q.Question.Choices)
		}
		return protocol.Given{Choice: &choice}
	case quiz.Multiple:
		if right {
			return protocol.Given{Choices: q.Right()}
		}
		return protocol.Given{Choices: []int{rng.IntN(len(q.Question.Choices))}}
	case quiz.Number:
		value := q.Target.Value
		if !right {
			value += q.Target.Tolerance + 1 + float64(rng.IntN(20))
		}
		return protocol.Given{Value: json.RawMessage(strconv.FormatFloat(value, 'f', -1, 64))}
	}
	text := "?"
	if right {
		text = q.Accepted[0]
	}
	value, _ := json.Marshal(text) // a string always encodes
	return protocol.Given{Value: value}
}

// scheduleBots schedules the bots' answers to the open question, once per
// question. The caller holds mu.
func (e *Engine) scheduleBots(l *localMatch) {
	s := l.state
	if s.Phase != Open || s.Question == l.botsQuestion {
		return
	}
	l.botsQuestion = s.Question
	for _, seat := range l.plan.Seats {
		if !seat.Bot {
			continue
		}
		wait, given := planBotAnswer(l.plan, s.Question, seat.Player)
		wait -= time.Duration(e.Now()-s.OpensAt) * time.Millisecond
		e.Wheel.After(wait, func() { e.submitBotAnswer(l, seat.Player, s.Question, given) })
	}
}

func (e *Engine) submitBotAnswer(l *localMatch, player string, question int, given protocol.Given) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	_, followUp, err := e.Answer(ctx, Submission{
		Player: player, At: e.Now(),
		Answer: protocol.Answer{Match: l.plan.ID, Question: &question, Given: given},
	})
	if err != nil {
		e.Logger.Debug("bot answer refused", "match", l.plan.ID, "error", err)
	}
	followUp()
}
