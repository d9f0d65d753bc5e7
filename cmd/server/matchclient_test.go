package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	player "laststand/loadtest/players"
)

// answerKey knows the right answers of the built-in bank.
type answerKey map[string]*quiz.Question // by text

func newAnswerKey(t *testing.T) answerKey {
	t.Helper()
	key := testenv.Need(builtinAnswers())(t)
	return key
}

var builtinAnswers = sync.OnceValues(func() (answerKey, error) {
	b, err := quiz.BuiltinBank()
	s := make(answerKey)
	for i := range b.Questions {
		s[b.Questions[i].Text] = &b.Questions[i]
	}
	return s, err
})

// answer returns a right or a wrong answer to a question.
func (k answerKey) answer(question protocol.Question, right bool) protocol.Given {
	known := k[question.Text]
	switch known.Kind {
	case quiz.Single, quiz.Boolean:
		choice := slices.Index(question.Choices, known.Choices[known.RightIndexes[0]])
		if !right {
			choice = (choice + 1) % len(question.Choices)
		}
		return protocol.Given{Choice: &choice}
	case quiz.Multiple:
		var choices []int
		for _, i := range known.RightIndexes {
			choices = append(choices, slices.Index(question.Choices, known.Choices[i]))
		}
		if !right {
			choices = []int{(choices[0] + 1) % len(question.Choices)}
			if len(known.RightIndexes) == 1 && slices.Contains(known.RightIndexes, choices[0]) {
				choices[0] = (choices[0] + 1) % len(question.Choices)
			}
		}
		return protocol.Given{Choices: choices}
	case quiz.Number:
		value := known.Target.Value
		if !right {
			value += known.Target.Tolerance + 1
		}
		raw, _ := json.Marshal(value)
		return protocol.Given{Value: raw}
	}
	text := known.Accepted[0]
	if !right {
		text = "surely not"
	}
	raw, _ := json.Marshal(text)
	return protocol.Given{Value: raw}
}

// matchClient is a player, host or spectator in a match, with all that the server sent.
type matchClient struct {
	*player.Player
	id                string
	plan              func(question int) (right, isSilent bool) // nil: only watches
	key               answerKey
	joined            protocol.ArenaJoined
	seq               int64
	numberedPushes    bytes.Buffer
	frames            []string // all that it handled
	found             protocol.MatchFound
	asked             []protocol.Question
	closed            []protocol.QuestionClosed
	personalResults   []protocol.Own
	answers           map[int]protocol.Answered
	refused           map[int]protocol.Error
	questionByRequest map[int64]int // question, by request id
	over              *protocol.MatchOver
	match             string
	settled           *protocol.Settled
	waitForSettled    bool // wait for the settled push
	isStrict          bool // checkStrictly checks all frames

	view      *checker.View             // compares all frames with the rules; nil: nothing is compared
	submitted map[int64]protocol.Answer // answers by request id
}

// newMatchClient connects a guest.
func newMatchClient(t *testing.T, url string, g player.Guest) *matchClient {
	t.Helper()
	return &matchClient{
		Player: connect(t, url, g), id: g.ID, answers: map[int]protocol.Answered{}, refused: map[int]protocol.Error{}, questionByRequest: map[int64]int{},
	}
}

// follow compares everything that clients send and receive from now on with the rules. Call
// it before the match starts, and judge after its end.
func follow(rules *checker.Checker, players []*matchClient, spectators ...*matchClient) {
	for _, c := range players {
		c.view, c.submitted = rules.Player(c.id), map[int64]protocol.Answer{}
	}
	for _, c := range spectators {
		c.view = rules.Player("")
	}
}

// checkFrame compares a frame with the rules.
func (c *matchClient) checkFrame(f checker.Frame) error {
	if c.view == nil {
		return nil
	}
	if f.Re != nil {
		if a, ok := c.submitted[*f.Re]; ok && f.Type == protocol.TypeAnswered {
			_, err := c.view.Accepted(a, f.Data)
			return err
		} else if ok {
			var e protocol.Error
			return errors.Join(json.Unmarshal(f.Data, &e), c.view.Refused(a, e, 1))
		}
	}
	err := c.view.Push(f, 0)
	if f.Type == protocol.TypeMatchOver {
		c.view.Finish()
	}
	return err
}

// send sends an answer and returns the id of the request.
func (c *matchClient) send(a protocol.Answer) (id int64, err error) {
	if c.view != nil {
		c.view.Sent(a)
	}
	id, err = c.Send(protocol.TypeAnswer, a)
	c.questionByRequest[id] = *a.Question
	if c.view != nil {
		c.submitted[id] = a
	}
	return id, err
}

// joinArena connects a guest and joins the arena.
func joinArena(t *testing.T, url string, g player.Guest, join protocol.ArenaJoin) *matchClient {
	t.Helper()
	c := newMatchClient(t, url, g)
	f := request(t, c.Player, protocol.TypeArenaJoin, join)
	if f.Type != protocol.TypeArenaJoined {
		t.Fatalf("joining was answered with %s", f.Raw)
	}
	readData(t, f, &c.joined)
	return c
}

// play answers by the plan until the match is over, and with waitForSettled until it is settled.
// It sends an answer again that the server could not take at the time, because it would wait for
// the end of the question.
func (c *matchClient) play() error {
	for c.over == nil || c.waitForSettled && c.settled == nil {
		f, err := c.Read(time.Minute)
		if err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
		if err := errors.Join(c.handleFrame(f), c.resendUnavailable(f)); err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
	}
	return nil
}

// resendUnavailable sends the answer to the latest question again if f says that it was unavailable.
func (c *matchClient) resendUnavailable(f checker.Frame) error {
	if f.Type != protocol.TypeError || f.Re == nil || len(c.asked) == 0 {
		return nil
	}
	latest := len(c.asked) - 1
	question, isAnswer := c.questionByRequest[*f.Re]
	if !isAnswer || question != latest || c.refused[question].Code != protocol.CodeUnavailable {
		return nil
	}
	time.Sleep(time.Duration(c.refused[question].RetryAfterMS) * time.Millisecond)
	return c.submitPlanned(c.asked[latest])
}

func (c *matchClient) handleFrame(f checker.Frame) error {
	c.frames = append(c.frames, string(f.Raw))
	if err := c.checkFrame(f); err != nil {
		return err
	}
	if c.isStrict {
		if err := c.checkStrictly(f); err != nil {
			return err
		}
	}
	if f.Seq != 0 {
		if c.seq++; f.Seq != c.seq {
			return fmt.Errorf("push %d arrived, want push %d: %s", f.Seq, c.seq, f.Raw)
		}
		c.numberedPushes.Write(f.Raw)
		c.match = f.Match
	}
	switch f.Type {
	case protocol.TypeMatchFound:
		return json.Unmarshal(f.Data, &c.found)
	case protocol.TypeQuestion:
		return c.answer(f)
	case protocol.TypeAnswered:
		var a protocol.Answered
		err := json.Unmarshal(f.Data, &a)
		c.answers[a.Question] = a
		return err
	case protocol.TypeError:
		var e protocol.Error
		err := json.Unmarshal(f.Data, &e)
		c.refused[c.questionByRequest[*f.Re]] = e
		return err
	case protocol.TypeQuestionClosed:
		var closed protocol.QuestionClosed
		err := json.Unmarshal(f.Data, &closed)
		c.closed = append(c.closed, closed)
		return err
	case protocol.TypeOwn:
		var own protocol.Own
		err := json.Unmarshal(f.Data, &own)
		if c.personalResults = append(c.personalResults, own); len(c.personalResults) > len(c.closed) {
			return fmt.Errorf("own came before question.closed: %s", f.Raw)
		}
		return err
	case protocol.TypeMatchOver:
		return json.Unmarshal(f.Data, &c.over)
	case protocol.TypeSettled:
		return json.Unmarshal(f.Data, &c.settled)
	}
	return nil
}

func (c *matchClient) answer(f checker.Frame) error {
	var q protocol.Question
	if err := json.Unmarshal(f.Data, &q); err != nil {
		return err
	}
	c.asked = append(c.asked, q)
	return c.submitPlanned(q)
}

// submitPlanned answers a question by the plan.
func (c *matchClient) submitPlanned(q protocol.Question) error {
	if c.plan == nil {
		return nil
	}
	right, isSilent := c.plan(q.Question)
	if isSilent {
		return nil
	}
	_, err := c.send(protocol.Answer{Match: c.match, Question: &q.Question, Given: c.key.answer(q, right)})
	return err
}

// playAll lets all clients play, each in a goroutine that it waits for.
func playAll(t *testing.T, clients []*matchClient) {
	t.Helper()
	var group sync.WaitGroup
	for _, c := range clients {
		group.Go(func() {
			if err := c.play(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, c := range clients {
		if !bytes.Equal(c.numberedPushes.Bytes(), clients[0].numberedPushes.Bytes()) {
			t.Fatalf("%s and %s got different pushes", c.id, clients[0].id)
		}
	}
}

// createArena makes an arena with a token, and returns the server's answer.
func createArena(t *testing.T, url, token string, arena protocol.NewArena) (created protocol.ArenaMade) {
	t.Helper()
	r := send(t, http.MethodPost, url+"/v1/games/demo/arenas", token, arena)
	if r.decode(t, &created) != http.StatusCreated {
		t.Fatalf("creating an arena: %s", r)
	}
	if !strings.HasSuffix(created.JoinURL, "/g/demo/join/"+created.Code) {
		t.Errorf("join_url %q", created.JoinURL)
	}
	return created
}

// mustRequest sends a request of a host and fails the test after an error.
func (c *matchClient) mustRequest(t *testing.T, kind string, data any) {
	t.Helper()
	if f := request(t, c.Player, kind, data); f.Type != protocol.TypeArenaOK {
		t.Fatalf("%s was answered with %s", kind, f.Raw)
	}
}
