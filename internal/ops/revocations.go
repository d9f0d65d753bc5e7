package ops

import (
	"context"
	"slices"
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

// Ban is a ban as the admin API shows it.
type Ban struct {
	Player    string `json:"player"`
	Reason    string `json:"reason"`
	CreatedBy string `json:"created_by,omitempty"`
	CreatedAt int64  `json:"created_at"`           // epoch ms, as all times
	ExpiresAt int64  `json:"expires_at,omitempty"` // absent: never
}

func viewOf(r identity.Revocation) any {
	if r.Kind == identity.KindBan {
		return Ban{r.ID, r.Reason, r.SetBy, r.ChangedAt, r.EndsAt}
	}
	return r
}

// revocationBody is the body of a ban or revocation. IssuedBefore is for the kind subject only.
type revocationBody struct {
	Reason       string `json:"reason" need:"true"`
	ExpiresAt    int64  `json:"expires_at,omitempty"`
	IssuedBefore int64  `json:"issued_before,omitempty"`
}

func (h revocationRoutes) routes() []Operation {
	return []Operation{
		{"GET", gamePath + "/bans", h.listBans, []string{"limit", "cursor"}, false, "List bans, newest first."},
		{"PUT", gamePath + "/bans/{player}", withBody(h.set), nil, false, "Ban a player for a `reason`, until `expires_at` if given."},
		{"DELETE", gamePath + "/bans/{player}", h.lift, nil, false, "Remove a ban."},
		{"GET", gamePath + "/revocations", h.listRevocations, []string{"kind", "limit", "cursor"}, false, "List revocations, newest first."},
		{"PUT", gamePath + "/revocations/{kind}/{id}", withBody(h.set), nil, false, "Revoke a token, or all tokens of a subject."},
		{"DELETE", gamePath + "/revocations/{kind}/{id}", h.lift, nil, false, "Remove a revocation."},
		{"GET", "/admin/v1/revocations", h.listRevocations, []string{"kind", "limit", "cursor"}, false, "List revocations of admin tokens."},
		{"PUT", "/admin/v1/revocations/{kind}/{id}", withBody(h.set), nil, false, "Revoke admin tokens."},
		{"DELETE", "/admin/v1/revocations/{kind}/{id}", h.lift, nil, false, "Remove a revocation of admin tokens."},
	}
}

func (h revocationRoutes) listBans(r *request) (any, error) {
	return h.list(r, "bans", identity.KindBan)
}

func (h revocationRoutes) listRevocations(r *request) (any, error) {
	kind := identity.RevocationKind(r.query.Get("kind"))
	if kind != "" && (kind == identity.KindBan || !slices.Contains(identity.RevocationKinds(), kind)) {
		return nil, badRequest("kind=%q is unknown; use token, subject, erased, linked or unlinked", kind)
	}
	return h.list(r, "revocations", kind)
}

func (h revocationRoutes) list(r *request, key string, kind identity.RevocationKind) (any, error) {
	before := int64(0)
	if cursor := r.query.Get("cursor"); cursor != "" {
		var err error
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before <= 0 {
			return nil, badCursor(cursor)
		}
	}
	stored, err := h.Revocations.ListRevocations(r.ctx, r.game, kind, before, r.limit+1)
	list := page[any]{key: key}
	for i, revocation := range stored {
		if i == r.limit {
			list.next = strconv.FormatInt(stored[i-1].Seq, 10)
			break
		}
		list.items = append(list.items, viewOf(revocation))
	}
	return list, err
}

// pathRevocation returns what the path of a request names, with a reason: the ban of a player, or
// the revocation of one token or of all tokens of a subject.
func (h revocationRoutes) pathRevocation(r *request, body revocationBody) (identity.Revocation, error) {
	named := identity.Revocation{
		Game: r.game, Kind: identity.KindBan, ID: r.PathValue("player"), SetBy: r.actor,
		Reason: body.Reason, EndsAt: body.ExpiresAt, IssuedBefore: body.IssuedBefore,
	}
	if named.ID == "" {
		named.Kind, named.ID = identity.RevocationKind(r.PathValue("kind")), r.PathValue("id")
		if named.Kind != identity.KindToken && named.Kind != identity.KindSubject {
			return named, badRequest("kind %q cannot be changed here; use token or subject", named.Kind)
		}
	}
	return named, named.Validate(h.Now())
}

func (h revocationRoutes) set(r *request, body revocationBody) (any, error) {
	revocation, err := h.pathRevocation(r, body)
	if err != nil {
		return nil, err
	}
	stored, err := h.Revocations.SetRevocation(r.ctx, revocation)
	return viewOf(stored), err
}

func (h revocationRoutes) lift(r *request) (any, error) {
	revocation, err := h.pathRevocation(r, revocationBody{Reason: "lifted"})
	if err != nil {
		return nil, err
	}
	return nil, h.Revocations.LiftRevocation(r.ctx, revocation)
}
