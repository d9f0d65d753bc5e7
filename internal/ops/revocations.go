package ops

import (
	"context"
	"net/http"
	"strconv"

	"laststand/internal/identity"
)

// Revocations stores bans and revocations, which take effect at all nodes. The game ""
// means revocations of admin tokens. LiftRevocation can return identity.ErrNotRevoked.
type Revocations interface {
	SetRevocation(ctx context.Context, b identity.Revocation) (identity.Revocation, error)
	LiftRevocation(ctx context.Context, b identity.Revocation) error
	// ListRevocations returns the current revocations of a kind, last change first; the kind ""
	// means all kinds except bans. It returns only those with a lower Seq than before; 0
	// means no limit.
	ListRevocations(ctx context.Context, game string, kind identity.RevocationKind, before int64, limit int) ([]identity.Revocation, error)
}

// revocationKinds are the kinds of revocations by their names in the admin API.
var revocationKinds = map[string]identity.RevocationKind{
	"token": identity.KindToken, "subject": identity.KindSubject, "erased": identity.KindErased,
	"linked": identity.KindLinked, "unlinked": identity.KindUnlinked,
}

// kindName returns the name of a kind in the admin API.
func kindName(kind identity.RevocationKind) string {
	for name, known := range revocationKinds {
		if known == kind {
			return name
		}
	}
	return string(kind)
}

// Revocation is one revocation in a response.
type Revocation struct {
	Kind         string `json:"kind"`
	ID           string `json:"id"`
	Reason       string `json:"reason"`
	CreatedBy    string `json:"created_by,omitempty"`
	CreatedAt    int64  `json:"created_at"` // epoch ms, as all times
	ExpiresAt    int64  `json:"expires_at,omitempty"`
	IssuedBefore int64  `json:"issued_before,omitempty"` // only for the kind subject: tokens issued before this time are revoked
}

func newRevocation(stored identity.Revocation) Revocation {
	return Revocation{kindName(stored.Kind), stored.ID, stored.Reason, stored.SetBy, stored.ChangedAt, stored.EndsAt, stored.IssuedBefore}
}

// revocationPage is one page of revocations; the last page has no cursor.
type revocationPage struct {
	Revocations []Revocation `json:"revocations"`
	NextCursor  string       `json:"next_cursor,omitempty"`
}

// revocationBody is the body of a request that revokes tokens.
type revocationBody struct {
	Reason       string `json:"reason" need:"true"`
	ExpiresAt    int64  `json:"expires_at,omitempty"`
	IssuedBefore int64  `json:"issued_before,omitempty"`
}

func (a *api) getRevocations(w http.ResponseWriter, r *request) error {
	name := r.query.Get("kind")
	kind := revocationKinds[name]
	if name != "" && kind == "" {
		return badRequest("kind=%q is unknown; use token, subject, erased, linked or unlinked", name)
	}
	revocations, next, err := a.revocationPage(r, kind)
	if err != nil {
		return err
	}
	page := revocationPage{Revocations: []Revocation{}, NextCursor: next}
	for _, stored := range revocations {
		page.Revocations = append(page.Revocations, newRevocation(stored))
	}
	return writeJSON(w, http.StatusOK, page)
}

// pathRevocation returns the revocation that the path of a request names: of one token, or
// of all tokens of a subject.
func (r *request) pathRevocation() (identity.Revocation, error) {
	name := r.PathValue("kind")
	if name != "token" && name != "subject" {
		return identity.Revocation{}, badRequest("kind %q cannot be changed here; use token or subject", name)
	}
	return identity.Revocation{Game: r.game, Kind: revocationKinds[name], ID: r.PathValue("id"), SetBy: r.actor}, nil
}

func (a *api) putRevocation(w http.ResponseWriter, r *request) error {
	var body revocationBody
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	requested, err := r.pathRevocation()
	if err != nil {
		return err
	}
	requested.Reason, requested.EndsAt, requested.IssuedBefore = body.Reason, body.ExpiresAt, body.IssuedBefore
	stored, err := a.setRevocation(r, requested)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(r.Context(), "tokens revoked", "game", stored.Game, "kind", stored.Kind, "id", stored.ID, "reason", stored.Reason, "expires_at", stored.EndsAt, "actor", r.actor)
	return writeJSON(w, http.StatusOK, newRevocation(stored))
}

func (a *api) deleteRevocation(w http.ResponseWriter, r *request) error {
	revocation, err := r.pathRevocation()
	if err == nil {
		err = a.removeRevocation(r, revocation)
	}
	if err != nil {
		return err
	}
	a.Logger.InfoContext(r.Context(), "revocation removed", "game", revocation.Game, "kind", revocation.Kind, "id", revocation.ID, "actor", r.actor)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// revocationPage returns a page of the current bans or revocations, and the cursor of the
// next page.
func (a *api) revocationPage(r *request, kind identity.RevocationKind) (page []identity.Revocation, next string, err error) {
	limit, err := readLimit(r.query.Get("limit"))
	if err != nil {
		return nil, "", err
	}
	before := int64(0)
	if cursor := r.query.Get("cursor"); cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before <= 0 {
			return nil, "", badCursor(cursor)
		}
	}
	ctx, cancel := r.callContext()
	defer cancel()
	page, err = a.Revocations.ListRevocations(ctx, r.game, kind, before, limit+1)
	if len(page) > limit {
		page = page[:limit]
		next = strconv.FormatInt(page[limit-1].Seq, 10)
	}
	return page, next, err
}

func (a *api) setRevocation(r *request, revocation identity.Revocation) (identity.Revocation, error) {
	if err := revocation.Validate(a.Now()); err != nil {
		return identity.Revocation{}, err
	}
	ctx, cancel := r.callContext()
	defer cancel()
	return a.Revocations.SetRevocation(ctx, revocation)
}

func (a *api) removeRevocation(r *request, revocation identity.Revocation) error {
	revocation.Reason = "lifted"
	if err := revocation.Validate(a.Now()); err != nil {
		return err
	}
	ctx, cancel := r.callContext()
	defer cancel()
	return a.Revocations.LiftRevocation(ctx, revocation)
}
