package httpapi

import (
	"strings"
	"time"

	"laststand/internal/answers"
	"laststand/internal/identity"
	"laststand/internal/overload"
)

const (
	hostVoidTime  = time.Hour // how long after a match its host may make questions void
	maxVoidReason = 500       // bytes
)

// newVoid is the body of postVoid.
type newVoid struct {
	Question *int   `json:"question" need:"true"`
	Reason   string `json:"reason,omitempty"`
}

// voided is the response of postVoid. IsNew is false if the question was void before.
type voided struct {
	Match    string `json:"match"`
	Question int    `json:"question"`
	IsNew    bool   `json:"new"`
}

// postVoid counts the match of an arena again without a question.
func (h arenaRoutes) postVoid(r *request) (any, error) {
	record, claims, err := h.authorizeArena(r)
	if err != nil {
		return nil, err
	}
	var body newVoid
	if err := r.readBody(&body); err != nil {
		return nil, err
	}
	if len(body.Reason) > maxVoidReason || strings.Contains(body.Reason, "\x00") {
		return nil, badRequest("the reason has %d bytes or a NUL character; use at most %d bytes", len(body.Reason), maxVoidReason)
	}
	void := answers.Void{Game: r.game, Match: record.Match, Question: *body.Question, Reason: body.Reason, MaxAge: hostVoidTime}
	if claims.Role == identity.RoleService {
		void.By, void.MaxAge = claims.Subject, 0
	} else if err := h.Limits.Changes.Take(r.Context(), overload.ObjectKey(r.game, claims.Subject), 1); err != nil {
		return nil, err
	}
	if _, err := h.settledMatch(r, record); err != nil {
		return nil, err
	}
	isNew, err := h.Voids.MakeVoid(r.Context(), void)
	return voided{record.Match, void.Question, isNew}, err
}
