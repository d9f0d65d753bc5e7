package ops

import (
	"context"
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

type revocationBody struct {
	Reason       string `json:"reason" need:"true"`
	ExpiresAt    int64  `json:"expires_at,omitempty"`
	IssuedBefore int64  `json:"issued_before,omitempty"`
}

// Ban is a ban as the admin API shows it.
type Ban struct {
	Player    string `json:"player"`
	Reason    string `json:"reason"`
	CreatedBy string `json:"created_by,omitempty"`
	CreatedAt int64  `json:"created_at"`           // epoch ms, as all times
	ExpiresAt int64  `json:"expires_at,omitempty"` // absent: never
}

func newBan(stored identity.Revocation) Ban {
	return Ban{stored.ID, stored.Reason, stored.SetBy, stored.ChangedAt, stored.EndsAt}
}

type banBody struct {
	Reason    string `json:"reason" need:"true"`
	ExpiresAt int64  `json:"expires_at,omitempty"`
}

// revocationRoutes changes bans and revocations.
type revocationRoutes struct {
	Revocations Revocations
	Now         func() int64
}

func (h revocationRoutes) routes() []route {
	return []route{
		{"GET", gamePath + "/bans", h.listBans, []string{"limit", "cursor"}, false, "List bans, newest first."},
		{"PUT", gamePath + "/bans/{player}", withBody(h.ban), nil, false, "Ban a player for a `reason`, until `expires_at` if given."},
		{"DELETE", gamePath + "/bans/{player}", h.removeBan, nil, false, "Remove a ban."},
		{"GET", gamePath + "/revocations", h.listRevocations, []string{"kind", "limit", "cursor"}, false, "List revocations, newest first."},
		{"PUT", gamePath + "/revocations/{kind}/{id}", withBody(h.revoke), nil, false, "Revoke a token, or all tokens of a subject."},
		{"DELETE", gamePath + "/revocations/{kind}/{id}", h.restore, nil, false, "Remove a revocation."},
		{"GET", "/admin/v1/revocations", h.listRevocations, []string{"kind", "limit", "cursor"}, false, "List revocations of admin tokens."},
		{"PUT", "/admin/v1/revocations/{kind}/{id}", withBody(h.revoke), nil, false, "Revoke admin tokens."},
		{"DELETE", "/admin/v1/revocations/{kind}/{id}", h.restore, nil, false, "Remove a revocation of admin tokens."},
	}
}

func (h revocationRoutes) listBans(r *request) (any, error) {
	return listRevocations(h, r, "bans", identity.KindBan, newBan)
}

func (r *request) pathBan() identity.Revocation {
	return identity.Revocation{Game: r.game, Kind: identity.KindBan, ID: r.PathValue("player"), SetBy: r.actor}
}

func (h revocationRoutes) ban(r *request, body banBody) (any, error) {
	requested := r.pathBan()
	requested.Reason, requested.EndsAt = body.Reason, body.ExpiresAt
	stored, err := h.set(r, requested)
	return newBan(stored), err
}

func (h revocationRoutes) removeBan(r *request) (any, error) { return nil, h.lift(r, r.pathBan()) }

func (h revocationRoutes) listRevocations(r *request) (any, error) {
	name := r.query.Get("kind")
	kind := revocationKinds[name]
	if name != "" && kind == "" {
		return nil, badRequest("kind=%q is unknown; use token, subject, erased, linked or unlinked", name)
	}
	return listRevocations(h, r, "revocations", kind, newRevocation)
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

func (h revocationRoutes) revoke(r *request, body revocationBody) (any, error) {
	requested, err := r.pathRevocation()
	if err != nil {
		return nil, err
	}
	requested.Reason, requested.EndsAt, requested.IssuedBefore = body.Reason, body.ExpiresAt, body.IssuedBefore
	stored, err := h.set(r, requested)
	return newRevocation(stored), err
}

func (h revocationRoutes) restore(r *request) (any, error) {
	revocation, err := r.pathRevocation()
	if err != nil {
		return nil, err
	}
	return nil, h.lift(r, revocation)
}

// listRevocations returns a page of the current bans or revocations, as newItem shows them.
func listRevocations[T any](h revocationRoutes, r *request, key string, kind identity.RevocationKind, newItem func(identity.Revocation) T) (any, error) {
	before := int64(0)
	if cursor := r.query.Get("cursor"); cursor != "" {
		var err error
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before <= 0 {
			return nil, badCursor(cursor)
		}
	}
	stored, err := h.Revocations.ListRevocations(r.ctx, r.game, kind, before, r.limit+1)
	list := page[T]{key: key}
	for i, revocation := range stored {
		if i == r.limit {
			list.next = strconv.FormatInt(stored[i-1].Seq, 10)
			break
		}
		list.items = append(list.items, newItem(revocation))
	}
	return list, err
}

func (h revocationRoutes) set(r *request, revocation identity.Revocation) (identity.Revocation, error) {
	if err := revocation.Validate(h.Now()); err != nil {
		return identity.Revocation{}, err
	}
	return h.Revocations.SetRevocation(r.ctx, revocation)
}

func (h revocationRoutes) lift(r *request, revocation identity.Revocation) error {
	revocation.Reason = "lifted"
	if err := revocation.Validate(h.Now()); err != nil {
		return err
	}
	return h.Revocations.LiftRevocation(r.ctx, revocation)
}
