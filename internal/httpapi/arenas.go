package httpapi

import (
	"net/http"
	"net/url"
	"regexp"

	"laststand/internal/arena"
	"laststand/internal/httpserver"
	"laststand/internal/protocol"
)

// postArena creates an arena. The host is the subject of the token.
func (h arenaRoutes) postArena(r *request) (any, error) {
	if h.IsDraining() {
		return nil, errDraining
	}
	claims, err := h.authenticateHost(r)
	if err != nil {
		return nil, err
	}
	pageURL, err := h.pageURL(r.Request)
	if err != nil {
		return nil, err
	}
	create := arena.CreateRequest{Game: r.game, Creator: claims.Subject, Role: claims.Role}
	if err := r.readBody(&create.NewArena); err != nil {
		return nil, err
	}
	if err := h.checkNewArenaLimits(r, claims); err != nil {
		return nil, err
	}
	created, err := h.Arenas.Create(r.Context(), create)
	if err != nil {
		return nil, err
	}
	h.Limits.ArenaCodes.AddSecret(r.Context(), h.newCodeAttempt(r, created.Code)) // players often share the address of their host
	created.JoinURL = pageURL.JoinPath("g", r.game, "join", created.Code).String()
	return httpserver.Response{Status: http.StatusCreated, Body: created}, nil
}

// hostedArenas is the response with a page of the arenas of a host.
type hostedArenas struct {
	Arenas     []protocol.HostedArena `json:"arenas"`
	NextCursor string                 `json:"next_cursor,omitempty"`
}

// getHosted lists the arenas whose host is the subject of the token.
func (h arenaRoutes) getHosted(r *request) (any, error) {
	claims, err := h.authenticateHost(r)
	if err != nil {
		return nil, err
	}
	page, err := readPaging(r.query)
	if err != nil {
		return nil, err
	}
	arenas, next, err := h.Arenas.ListHosted(r.Context(), r.game, claims.Subject, page.cursor, page.limit)
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
	if err != nil {
		return nil, err
	}
	view.Teams = nonNil(view.Teams)
	return view, nil
}
