package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lua"
	"laststand/internal/match"
	"laststand/internal/quiz"
)

// maxPlayersPerRead limits the players of one read, and therefore its duration.
const maxPlayers = 500

var errTooManyPlayers = fmt.Errorf("at most %d players are possible in one read", maxPlayers)

// Read reads a match, see match.Store. It returns an error for more than 500
// players.
func (s *Store) Read(ctx context.Context, q match.ReadQuery) (match.View, error) {
	if len(q.Players) > maxPlayers {
		return match.View{}, fmt.Errorf("redismatch: read %s: %w", q.Match, errTooManyPlayers)
	}
	full, short := 0, 0
	if q.WantListed {
		full, short = match.FullView, match.ShortView
	}
	args := append(make([]any, 0, 8+len(q.Players)), boolArg(q.WantPlan), q.After, q.SeenVersion, q.Node, boolArg(q.WantRanks), full, short, boolArg(!q.OmitRecords))
	for _, player := range q.Players {
		args = append(args, player)
	}
	k := newKeys(q.Match)
	reply, err := readScript.Run(ctx, s.scripter(len(q.Players) > match.FullView), []string{
		k.match(), k.plan(), k.log(), k.answers(), k.totals(), k.nodes(), k.seats(), k.teams(), k.rank(), k.top(),
	}, args...).Slice()
	switch {
	case errors.Is(err, redis.Nil):
		return match.View{}, match.ErrNotFound
	case err != nil:
		return match.View{}, fmt.Errorf("redismatch: read %s: %w", q.Match, err)
	case len(reply) == 0:
		return match.View{}, match.ErrAbandoned
	}
	v, err := viewOf(reply, q)
	if err != nil {
		return match.View{}, fmt.Errorf("redismatch: read %s: %w", q.Match, unreadable(err))
	}
	if v.Plan != nil {
		s.questions.share(v.Plan.Questions)
	}
	if q.After >= 0 && len(v.Frames) > 0 {
		err = s.readRestOfLog(ctx, q, &v)
	}
	return v, err
}

// pageBytes is about how much of a log one command reads, see read_match.lua.
const pageBytes = 64 << 10

// readRestOfLog reads the frames of a view that did not fit into one command,
// page by page. A log only grows, so the pages belong together.
func (s *Store) readRestOfLog(ctx context.Context, q match.ReadQuery, v *match.View) error {
	key, size := newKeys(q.Match).log(), 0
	for _, frame := range v.Frames {
		size += len(frame)
	}
	for at := q.After + int64(len(v.Frames)); at < v.Seq; at = q.After + int64(len(v.Frames)) {
		count := max(pageBytes*int64(len(v.Frames))/int64(max(size, 1)), 1)
		page, err := s.client.LRange(ctx, key, at, min(at+count, v.Seq)-1).Result()
		if err != nil {
			return fmt.Errorf("redismatch: read %s: %w", q.Match, err)
		}
		if len(page) == 0 { // the log has expired in between
			v.Frames = nil
			return nil
		}
		for _, frame := range page {
			v.Frames = append(v.Frames, []byte(frame))
			size += len(frame)
		}
	}
	return nil
}

// viewOf decodes the reply of read_match.lua.
func viewOf(reply lua.Reply, q match.ReadQuery) (v match.View, err error) {
	if v.Plan, err = planOf(reply.Text(1)); err != nil { // first, because the plan contains the form
		return v, err
	}
	if q.WantPlan && v.Plan == nil {
		return v, errNoPlan
	}
	hash := fieldsOf(reply.List(0))
	if v.State, err = hash.state(); err != nil {
		return v, err
	}
	for _, frame := range reply.Texts(2) {
		v.Frames = append(v.Frames, []byte(frame))
	}
	v.Nodes = reply.Texts(3)
	if scores, ok := hash["scores"]; ok {
		v.Scores = []byte(scores)
	}
	if q.WantListed {
		v.Teams = teamsOf(reply.List(4))
		if v.Firsts, err = hash.firsts(); err != nil {
			return v, err
		}
	}
	shown := reply.Texts(5)
	if v.Seats, err = seatsOf(reply.Texts(6)); err != nil {
		return v, err
	}
	if q.WantRanks {
		v.Ranks = make(map[string]int64, len(q.Players))
		for i, player := range q.Players {
			if rank := reply.List(10).Number(i); rank > 0 {
				v.Ranks[player] = rank
			}
		}
	}
	return v, addTotals(&v, append(shown, q.Players...), reply)
}

var errNoPlan = errors.New("it has no plan")

// asUnreadable wraps the error of data that exists but cannot be decoded.
func unreadable(err error) error {
	if errors.Is(err, match.ErrUnreadable) {
		return err
	}
	return &match.UnreadableError{Reason: match.Corrupt, Err: err}
}

// decodePlan decodes a plan. It returns nil for "", when no plan was requested. For a
// plan of another form it returns an UnreadableError. A conversion of the previous
// form would belong here, but no release has written that form.
func planOf(raw string) (*match.Plan, error) {
	if raw == "" {
		return nil, nil
	}
	p := new(match.Plan)
	if err := json.Unmarshal([]byte(raw), p); err != nil {
		return nil, err
	}
	switch {
	case p.Form > match.Form:
		return nil, &match.UnreadableError{
			Reason: match.NewerForm, Err: fmt.Errorf("form %d is newer than this node's %d: upgrade the node", p.Form, match.Form),
		}
	case p.Form < match.Form:
		return nil, &match.UnreadableError{
			Reason: match.OlderForm, Err: fmt.Errorf("form %d is older than this node's %d: nodes of that version end the match", p.Form, match.Form),
		}
	}
	p.Questions = clip(p.Questions)
	for i := range p.Questions {
		if q := &p.Questions[i]; q.Question == nil {
			q.Question = new(quiz.Question)
		}
	}
	return p, nil
}

// clipCapacity returns a list without unused capacity. A decoded list may have
// capacity for four elements or for twice its elements. The memory would be in use
// as long as the match.
func clip[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	return slices.Clone(list)
}

// addTotals decodes the records of the current question and the totals of
// players.
func addTotals(v *match.View, players []string, reply lua.Reply) error {
	records, sums, left := reply.List(7), reply.List(8), reply.List(9)
	v.Records = make(map[string]match.Record, len(records))
	v.Totals = make(map[string]match.Totals, len(players))
	for i, player := range players {
		v.Totals[player] = totalsOf(sums.Text(i), left.Text(i))
		raw := records.Text(i)
		if raw == "" {
			continue
		}
		r, err := recordOf(raw)
		if err != nil {
			return err
		}
		v.Records[player] = r
	}
	return nil
}
