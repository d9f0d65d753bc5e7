package redismatch

import (
	"encoding/json"
	"strconv"
	"strings"

	"laststand/internal/match"
	"laststand/internal/redisx"
)

// stepFields are the fields of a state that a step writes. Sealing leaves alive
// unchanged, because players may have left since the state was read. Only steps that
// compare the version write extra.
func stepFields(state match.State) []any {
	fields := []any{
		"phase", string(state.Phase), "question", state.Question, "starts_at", state.StartsAt, "opens_at", state.OpensAt,
		"closes_at", state.ClosesAt, "due_at", state.DueAt, "started_at", state.StartedAt, "reason", state.CloseReason,
		"ending", string(state.EndReason), "leaver", state.Leaver, "host_paced", boolArg(state.HostPaced), "extended", boolArg(state.Extended),
		"last", state.LastDecided, "voids", joinInts(state.Voids),
	}
	if state.Phase != match.PhaseSealed {
		fields = append(fields, "alive", state.Alive)
	}
	if state.Extra != nil && (state.Phase == match.PhaseOpen || state.Phase == match.PhaseRevealed) {
		fields = append(fields, "extra", encodeExtra(state.Extra))
	}
	return fields
}

// createFields are all fields of a match's first state, except those that the
// script numbers.
func createFields(plan *match.Plan, state match.State) []any {
	fields := append(stepFields(state),
		"answered", state.Answered, "right", state.Right,
		"players", state.Players, "left", state.LeftSeats, "ended", state.EndedPlaces, "locked", boolArg(state.Locked),
		"form", plan.Form, "game", plan.Game, "mode", string(plan.Mode), "questions", len(plan.Questions))
	if plan.Arena != nil {
		fields = append(fields, hashTablePadding...)
	}
	return fields
}

// hashTablePadding is a field that is never read. Redis searches a small hash
// from end to end for every field of a command. It stops doing so when the hash
// has 512 fields or one value of over 64 bytes. Without this field an answer in
// a large match costs twice as much. Duels stay small.
var hashTablePadding = []any{"wide", strings.Repeat(".", 65)}

// encodeExtra encodes the players with extra time, "" if there are none.
func encodeExtra(extra []match.ExtraTime) string {
	if len(extra) == 0 {
		return ""
	}
	raw, _ := json.Marshal(extra) // plain texts and numbers always encode
	return string(raw)
}

// firstField names the field with the first right answer to a buzzer question.
func firstField(question int) string { return "first|" + strconv.Itoa(question) }

// fields is a decoded hash.
type fields map[string]string

// decodeFields decodes a list of alternating names and values.
func decodeFields(flat redisx.Reply) fields {
	f := make(fields, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		f[flat.Text(i)] = flat.Text(i + 1)
	}
	return f
}

func (f fields) number(name string) int64 {
	n, _ := strconv.ParseInt(f[name], 10, 64) // written as a whole number, or not there
	return n
}

func (f fields) decodeState() (match.State, error) {
	s := match.State{
		Phase: match.Phase(f["phase"]), Question: int(f.number("question")), StartsAt: f.number("starts_at"),
		OpensAt: f.number("opens_at"), ClosesAt: f.number("closes_at"), DueAt: f.number("due_at"),
		StartedAt: f.number("started_at"), CloseReason: f["reason"], EndReason: match.Reason(f["ending"]), Leaver: f["leaver"],
		HostPaced: f["host_paced"] == "1", Extended: f["extended"] == "1", Alive: f.number("alive"),
		LastDecided: int(f.number("last")), Voids: splitInts(f["voids"]),
		Answered: f.number("answered"), Right: f.number("right"),
		Players: f.number("players"), LeftSeats: f.number("left"), EndedPlaces: f.number("ended"), Locked: f["locked"] == "1", Counted: f["counted"] == "1",
		Seq: f.number("seq"), Version: f.number("version"),
	}
	first, ok, err := f.decodeFirst(s.Question)
	if ok {
		s.First = &first
	}
	if extra := f["extra"]; extra != "" && err == nil {
		err = json.Unmarshal([]byte(extra), &s.Extra)
	}
	if final := f["ratings"]; final != "" && err == nil {
		err = json.Unmarshal([]byte(final), &s.Ratings)
	}
	return s, err
}

// decodeFirst returns the first right answer to a buzzer question.
func (f fields) decodeFirst(question int) (first match.First, ok bool, err error) {
	raw, ok := f[firstField(question)]
	if !ok {
		return first, false, nil
	}
	err = json.Unmarshal([]byte(raw), &first)
	return first, err == nil, err
}

// decodeFirsts returns the first right answers of all questions so far.
func (f fields) decodeFirsts() ([]match.First, error) {
	var all []match.First
	for q := range int(f.number("question")) + 1 {
		first, ok, err := f.decodeFirst(q)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, first)
		}
	}
	return all, nil
}

func joinInts(questions []int) string {
	texts := make([]string, len(questions))
	for i, q := range questions {
		texts[i] = strconv.Itoa(q)
	}
	return strings.Join(texts, ",")
}

func splitInts(list string) []int {
	var questions []int
	for text := range strings.SplitSeq(list, ",") {
		if q, err := strconv.Atoi(text); err == nil { // an empty list has one empty text
			questions = append(questions, q)
		}
	}
	return questions
}

func boolArg(b bool) int {
	if b {
		return 1
	}
	return 0
}
