package httpapi

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"laststand/internal/answers"
	"laststand/internal/arena"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// postArena creates an arena. The host is the subject of the token.
func (h arenaRoutes) postArena(r *request) (any, error) {
	pageURL, err := h.pageURL(r.Request)
	if err != nil {
		return nil, err
	}
	create := arena.CreateRequest{Game: r.game, Creator: r.claims.Subject, Role: r.claims.Role}
	if err := r.readBody(maxBody, &create.NewArena); err != nil {
		return nil, err
	}
	if err := h.checkNewArenaLimits(r); err != nil {
		return nil, err
	}
	created, err := h.Arenas.Create(r.Context(), create)
	if err != nil {
		return nil, err
	}
	_ = h.Limits.ArenaCodes.AddSecret(r.Context(), h.newCodeAttempt(r, created.Code)) // players often share the address of their host
	created.JoinURL = pageURL.JoinPath("g", r.game, "join", created.Code).String()
	return httpserver.Response{Status: http.StatusCreated, Body: created}, nil
}

type hostedArenas struct {
	Arenas     []protocol.HostedArena `json:"arenas"`
	NextCursor string                 `json:"next_cursor,omitempty"`
}

func (h arenaRoutes) getHosted(r *request, page paging) (any, error) {
	arenas, next, err := h.Arenas.ListHosted(r.Context(), r.game, r.claims.Subject, page.cursor, page.limit)
	return hostedArenas{arenas, next}, err
}

// hostHeaderPattern matches the Host headers that can be part of a link: a name
// or an IP address, with or without a port.
var hostHeaderPattern = regexp.MustCompile(`^([A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// pageURL returns the URL of the start page, with the host name of the request.
// The scheme is https if IsTLS returns true.
func (h arenaRoutes) pageURL(r *http.Request) (*url.URL, error) {
	if !hostHeaderPattern.MatchString(r.Host) {
		return nil, badRequest("the Host header %.100q is no name or address; send a valid Host header", r.Host)
	}
	page := &url.URL{Scheme: "http", Host: r.Host, Path: "/"}
	if h.IsTLS(r) {
		page.Scheme = "https"
	}
	return page, nil
}

// getArena shows an arena to a client that knows its join code. It refuses a
// malformed code without a lookup; such a code does not count as a wrong code.
func (h arenaRoutes) getArena(r *request) (any, error) {
	code := r.PathValue("code")
	if !arenaCodePattern.MatchString(code) {
		return nil, protocol.Errorf(protocol.CodeNotFound, "there is no such arena; a code has 6 digits")
	}
	var view protocol.ArenaLook
	err := h.tryArenaCode(r, code, func() (err error) {
		view, err = h.Arenas.Show(r.Context(), r.game, code)
		return err
	})
	view.Teams = nonNil(view.Teams)
	return view, err
}

const (
	hostVoidTime  = time.Hour // how long after a match its host may make questions void
	maxVoidReason = 500       // bytes
)

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

func (h arenaRoutes) postVoid(r *request) (any, error) {
	record, err := h.findArenaRecord(r)
	if err != nil {
		return nil, err
	}
	var body newVoid
	if err := r.readBody(maxBody, &body); err != nil {
		return nil, err
	}
	if len(body.Reason) > maxVoidReason || strings.Contains(body.Reason, "\x00") {
		return nil, badRequest("the reason has %d bytes or a NUL character; use at most %d bytes", len(body.Reason), maxVoidReason)
	}
	void := answers.Void{Game: r.game, Match: record.Match, Question: *body.Question, Reason: body.Reason, MaxAge: hostVoidTime}
	if r.claims.Role == identity.RoleService {
		void.By, void.MaxAge = r.claims.Subject, 0
	} else if err := h.Limits.Changes.Take(r.Context(), overload.ObjectKey(r.game, r.claims.Subject), 1); err != nil {
		return nil, err
	}
	if _, err := h.settledMatch(r, record); err != nil {
		return nil, err
	}
	isNew, err := h.Voids.MakeVoid(r.Context(), void)
	return voided{record.Match, void.Question, isNew}, err
}
