package checker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
)

// Stored compares the data that a server has stored with the judged matches.
type Stored struct {
	*Checker
	Get   reader
	GetAs func(ctx context.Context, player, path string, v any) error // with the player's token; nil: own answers are not compared
	Share int                                                         // one match and one player in so many is read by itself; leaderboards are read for all players

	players map[string]*record
}

// settleTimeout bounds how long the stored data may take to agree, after the last match.
const settleTimeout = time.Minute

// CheckStored waits until the stored data agrees with the judged matches. What still
// differs after a minute is a violation. It returns the number of players whose sums it
// compared. An error says that ctx has ended.
func (s *Stored) CheckStored(ctx context.Context) (compared int, err error) {
	s.players = make(map[string]*record)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	check := func(compare func() (difference string, err error)) {
		group.Go(func() error { return s.agree(ctx, compare) })
	}
	for i, m := range s.sorted() {
		s.collect(m)
		if len(m.final) > 0 && i%s.Share == 0 {
			check(func() (string, error) { return s.Get.compareMatch(ctx, m, s.Strangers) })
		}
	}
	ids := slices.Sorted(maps.Keys(s.players))
	for i, id := range ids {
		r := s.players[id]
		if r.isSure {
			compared++
		}
		if i%s.Share == 0 {
			check(func() (string, error) { return s.Get.compareHistory(ctx, id, r) })
			check(func() (string, error) { return s.Get.compareProfile(ctx, id, r) })
			for match, t := range r.matches {
				if s.GetAs != nil && !t.isUnsure {
					check(func() (string, error) { return s.compareAnswers(ctx, match, t) })
				}
			}
		}
	}
	for some := range slices.Chunk(ids, 100) {
		check(func() (string, error) { return s.Get.compareBoard(ctx, some, s.players) })
	}
	return compared, group.Wait()
}

func (s *Stored) collect(m *match) {
	for player, t := range m.final {
		r := s.players[player]
		if r == nil {
			r = &record{matches: make(map[string]*totals), counted: make(map[string]bool), isSure: true}
			s.players[player] = r
		}
		r.matches[m.id] = t
		r.isSure = r.isSure && !t.isUnsure
		if m.counts {
			r.counted[m.id] = true
			r.add(t.Sums)
		}
	}
}

// agree calls compare until it finds no difference. After settleTimeout it reports the
// remaining difference. A failed read counts as a difference.
func (s *Stored) agree(ctx context.Context, compare func() (difference string, err error)) error {
	for until := time.Now().Add(settleTimeout); ; {
		difference, err := compare()
		if err != nil {
			difference = err.Error()
		}
		if difference == "" {
			return nil
		}
		if time.Now().After(until) {
			s.Violations.Add("after %v: %s", settleTimeout, difference)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// AwaitBehaviours waits until the counts of behaviours agree with the posted behaviours
// that the server answered for.
func (s *Stored) AwaitBehaviours(ctx context.Context, posted int64, read func(context.Context) (Behaviours, error)) error {
	return s.agree(ctx, func() (string, error) {
		counts, err := read(ctx)
		return CheckBehaviours(posted, counts), err
	})
}

// storedAnswer is a player's answer to a question of a settled match, as the server tells it
// to the player. The form can be compared.
type storedAnswer struct {
	Given     string
	Correct   bool
	ElapsedMS int64 // -1: no answer
	Points    int64
}

func newStoredAnswer(r protocol.QuestionResult) storedAnswer {
	a := storedAnswer{Given: cmp.Or(string(r.Given), "null"), Correct: r.Correct, ElapsedMS: -1, Points: r.Points}
	if r.ElapsedMS != nil {
		a.ElapsedMS = *r.ElapsedMS
	}
	return a
}

// compareAnswers compares the stored answers of a player in a match with those that the
// server had accepted. Questions that a player was not asked are stored without an answer.
func (s *Stored) compareAnswers(ctx context.Context, match string, t *totals) (difference string, err error) {
	var stored struct {
		Questions []struct {
			Given     json.RawMessage
			Correct   bool
			ElapsedMS *int64 `json:"elapsed_ms"`
			Points    int64
		}
	}
	if err := s.GetAs(ctx, t.player, "matches/"+match+"/answers", &stored); err != nil {
		return "", err
	}
	if len(stored.Questions) < len(t.answers) {
		return fmt.Sprintf("the answers of %s to %d questions of %s are stored, and there were %d", t.player, len(stored.Questions), match, len(t.answers)), nil
	}
	for i, q := range stored.Questions {
		want, isAsked := t.answers[i]
		if !isAsked {
			want = newStoredAnswer(protocol.QuestionResult{})
		}
		got := newStoredAnswer(protocol.QuestionResult{Given: q.Given, Correct: q.Correct, ElapsedMS: q.ElapsedMS, Points: q.Points})
		if got != want {
			return fmt.Sprintf("the answer of %s to question %d of %s is stored as %+v, and was %+v", t.player, i, match, got, want), nil
		}
	}
	return "", nil
}
