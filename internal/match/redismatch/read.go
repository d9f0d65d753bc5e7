package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/quiz"
	"laststand/internal/redisx"
)

// maxPlayersPerRead limits the players of one read, and therefore its duration.
const maxPlayersPerRead = 500

var errTooManyPlayers = fmt.Errorf("at most %d players are possible in one read", maxPlayersPerRead)

// Read reads a match, see match.StateStore. It returns an error for more than 500
// players.
func (m *Matches) Read(ctx context.Context, query match.ReadQuery) (match.View, error) {
	if len(query.Players) > maxPlayersPerRead {
		return match.View{}, wrap("read", query.Match, errTooManyPlayers)
	}
	full, short := 0, 0
	if query.WantListed {
		full, short = match.FullListPlayers, match.ShortListPlayers
	}
	args := append(make([]any, 0, 9+len(query.Players)), boolArg(query.WantPlan), query.AfterSeq, query.Seen.Version, query.Seen.Node, query.Seen.Written, query.Node, boolArg(query.WantRanks), full, short)
	for _, player := range query.Players {
		args = append(args, player)
	}
	k := newKeys(query.Match)
	reply, err := readMatchScript.Run(ctx, m.scripterForSize(len(query.Players) > match.FullListPlayers), []string{
		k.match(), k.plan(), k.log(), k.answers(), k.totals(), k.seats(), k.teams(), k.rank(), k.top(), k.counts(),
	}, args...).Slice()
	switch {
	case errors.Is(err, redis.Nil):
		return match.View{}, match.ErrNotFound
	case err != nil:
		return match.View{}, wrap("read", query.Match, err)
	case len(reply) == 0:
		return match.View{}, match.ErrAbandoned
	}
	view, err := decodeView(reply, query)
	if err != nil {
		return match.View{}, wrap("read", query.Match, asUnreadable(err))
	}
	if view.Plan != nil {
		m.questions.share(view.Plan.Questions)
	}
	if query.AfterSeq >= 0 && len(view.Frames) > 0 {
		err = m.readRestOfLog(ctx, query, &view)
	}
	return view, err
}

// pageBytes is about how much of a log one command reads, see read_match.lua.
const pageBytes = 64 << 10

// readRestOfLog reads the frames of a view that did not fit into one command,
// page by page. A log only grows, so the pages belong together.
func (m *Matches) readRestOfLog(ctx context.Context, query match.ReadQuery, view *match.View) error {
	key, size := newKeys(query.Match).log(), 0
	for _, frame := range view.Frames {
		size += len(frame)
	}
	for firstIndex := query.AfterSeq + int64(len(view.Frames)); firstIndex < view.Seq; firstIndex = query.AfterSeq + int64(len(view.Frames)) {
		count := max(pageBytes*int64(len(view.Frames))/int64(max(size, 1)), 1)
		page, err := m.client.LRange(ctx, key, firstIndex, min(firstIndex+count, view.Seq)-1).Result()
		if err != nil {
			return wrap("read", query.Match, err)
		}
		if len(page) == 0 { // the log has expired in between
			view.Frames = nil
			return nil
		}
		for _, frame := range page {
			view.Frames = append(view.Frames, []byte(frame))
			size += len(frame)
		}
	}
	return nil
}

// decodeView decodes the reply of read_match.lua.
func decodeView(reply redisx.Reply, query match.ReadQuery) (view match.View, err error) {
	if view.Plan, err = decodePlan(reply.Text(1)); err != nil { // first, because the plan contains the form
		return view, err
	}
	if query.WantPlan && view.Plan == nil {
		return view, errNoPlan
	}
	hash := decodeFields(reply.List(0))
	if view.State, err = hash.decodeState(); err != nil {
		return view, err
	}
	for _, frame := range reply.Texts(2) {
		view.Frames = append(view.Frames, []byte(frame))
	}
	view.Nodes = splitNodes(hash["nodes"])
	if scores, ok := hash["scores"]; ok {
		view.Scores = []byte(scores)
	}
	if query.WantListed {
		view.Teams, view.Counts = decodeTeams(reply.List(3)), decodeCounts(reply.List(11))
		if view.Firsts, err = hash.decodeFirsts(); err != nil {
			return view, err
		}
	}
	shown := reply.Texts(4)
	if view.Seats, err = decodeSeats(reply.Texts(5)); err != nil {
		return view, err
	}
	if query.WantRanks {
		view.Ranks, view.Gaps = make(map[string]int64, len(query.Players)), make(map[string]int64, len(query.Players))
		for i, player := range query.Players {
			if gap := reply.List(10).Number(i); gap > 0 {
				view.Gaps[player] = gap
			}
			if rank := reply.List(9).Number(i); rank > 0 {
				view.Ranks[player] = rank
			}
		}
	}
	return view, addRecordsAndTotals(&view, append(shown, query.Players...), reply)
}

var errNoPlan = errors.New("it has no plan")

// asUnreadable wraps the error of data that exists but cannot be decoded.
func asUnreadable(err error) error {
	if errors.Is(err, match.ErrUnreadable) {
		return err
	}
	return &match.UnreadableError{Reason: match.ReasonCorrupt, Err: err}
}

// decodePlan decodes a plan. It returns nil for "", when no plan was requested. For a
// plan of another form it returns an UnreadableError. A conversion of the previous
// form would belong here, but no release has written that form.
func decodePlan(raw string) (*match.Plan, error) {
	if raw == "" {
		return nil, nil
	}
	plan := new(match.Plan)
	if err := json.Unmarshal([]byte(raw), plan); err != nil {
		return nil, err
	}
	switch {
	case plan.Form > match.NewestForm:
		return nil, &match.UnreadableError{
			Reason: match.ReasonNewerForm, Err: fmt.Errorf("form %d is newer than this node's %d: upgrade the node", plan.Form, match.NewestForm),
		}
	case plan.Form < match.OldestForm:
		return nil, &match.UnreadableError{
			Reason: match.ReasonOlderForm, Err: fmt.Errorf("form %d is older than this node's %d: nodes of that version end the match", plan.Form, match.OldestForm),
		}
	}
	for i := range plan.Questions {
		if question := &plan.Questions[i]; question.Question == nil {
			question.Question = new(quiz.Question)
		}
	}
	return plan, nil
}

// addRecordsAndTotals decodes the records of the current question and the totals of
// players.
func addRecordsAndTotals(view *match.View, players []string, reply redisx.Reply) error {
	records, totals, haveLeft := reply.List(6), reply.List(7), reply.List(8)
	view.Records = make(map[string]match.Record, len(records))
	view.Totals = make(map[string]match.Totals, len(players))
	for i, player := range players {
		view.Totals[player] = decodeTotals(totals.Text(i), haveLeft.Text(i))
		raw := records.Text(i)
		if raw == "" || isRefusal(raw) {
			continue
		}
		record, err := decodeRecord(raw)
		if err != nil {
			return err
		}
		view.Records[player] = record
	}
	return nil
}
