package ops

import (
	"net/http"

	"laststand/internal/taskqueue"
)

// linePage is a list of lines; the cursor is absent after the last.
type linePage struct {
	Lines      []taskqueue.Queue `json:"lines"`
	NextCursor string            `json:"next_cursor,omitempty"`
}

func (a *api) getLines(w http.ResponseWriter, r *request) error {
	f := taskqueue.QueueFilter{Kind: r.query.Get("kind"), Topic: r.query.Get("topic")}
	switch busy := r.query.Get("busy"); busy {
	case "", "false":
	case "true":
		f.Busy = true
	default:
		return badRequest("busy=%q: true or false", busy)
	}
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return err
	}
	ctx, cancel := r.within()
	defer cancel()
	lines, next, err := a.Tasks.Lines(ctx, f, r.query.Get("cursor"), limit)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, linePage{append([]taskqueue.Queue{}, lines...), next})
}
