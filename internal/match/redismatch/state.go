package redismatch

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"laststand/internal/match"
	"laststand/internal/redisx"
)

// stateWriter collects the names and values of the fields of a state.
type stateWriter struct {
	args []any
	all  bool // true: also of fields that do not change
}

func writeField[T comparable](w *stateWriter, name string, from, to T) {
	if w.all || from != to {
		w.args = append(w.args, name, to)
	}
}

// writeStep writes the fields of two states that steps write. It always writes due_at, which a
// host can move in between, and extended, which may have changed since a node answered.
func (w *stateWriter) writeStep(from, to match.State) {
	w.args = append(w.args, "due_at", to.DueAt, "extended", boolArg(to.Extended))
	writeField(w, "phase", string(from.Phase), string(to.Phase))
	writeField(w, "question", from.Question, to.Question)
	writeField(w, "starts_at", from.StartsAt, to.StartsAt)
	writeField(w, "opens_at", from.OpensAt, to.OpensAt)
	writeField(w, "closes_at", from.ClosesAt, to.ClosesAt)
	writeField(w, "started_at", from.StartedAt, to.StartedAt)
	writeField(w, "reason", from.CloseReason, to.CloseReason)
	writeField(w, "ending", string(from.EndReason), string(to.EndReason))
	writeField(w, "leaver", from.Leaver, to.Leaver)
	writeField(w, "host_paced", boolArg(from.HostPaced), boolArg(to.HostPaced))
	writeField(w, "alive", from.Alive, to.Alive)
	writeField(w, "last", from.LastDecided, to.LastDecided)
	writeField(w, "voids", joinInts(from.Voids), joinInts(to.Voids))
	writeField(w, "extra", encodeExtra(from.Extra), encodeExtra(to.Extra))
}

// createFields are all fields of a match's first state, except those that the
// script numbers.
func createFields(plan *match.Plan, state match.State) []any {
	w := stateWriter{all: true}
	w.writeStep(match.State{}, state)
	fields := slices.Concat(w.args, []any{
		"answered", state.Answered, "right", state.Right,
		"players", state.Players, "left", state.LeftSeats, "ended", state.EndedPlaces, "locked", boolArg(state.Locked),
		"form", plan.Form, "game", plan.Game, "mode", string(plan.Mode), "questions", len(plan.Questions),
	})
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

// writtenField names the field with the version after the newest write of a node.
func writtenField(node string) string { return "w|" + node }

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

// splitNodes returns the nodes of the field nodes, whose names have no spaces; nil for none.
func splitNodes(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, " ")
}
