package httpapi

import (
	"net/http"
	"net/url"
	"regexp"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// postArena makes an arena, whose host is who asks.
func (a *api) postArena(w http.ResponseWriter, r *request) error {
	if a.Draining() {
		return refuse(protocol.CodeUnavailable, "this node is about to stop; try again, another one answers")
	}
	claims, err := a.bearer(r)
	if err != nil {
		return err
	}
	switch claims.Role {
	case identity.RolePlayer:
		claims, err = a.known(r, claims)
	case identity.RoleHost:
		err = a.Guests.CheckHost(r.Context(), claims)
	default:
		err = refuse(codeForbidden, "only hosts and players make arenas: the token is of another role")
	}
	if err != nil {
		return err
	}
	from, err := a.pageOf(r.Request)
	if err != nil {
		return err
	}
	asked := arena.CreateRequest{Game: r.game, Creator: claims.Subject, Role: claims.Role}
	if err := readBody(w, r.Request, &asked.NewArena); err != nil {
		return err
	}
	if err := a.admitArena(r, claims); err != nil {
		return err
	}
	made, err := a.Arenas.Create(r.Context(), asked)
	if err != nil {
		return err
	}
	a.Limits.Codes.AddSecret(r.Context(), a.guessOf(r, made.Code)) // they often sit where their host does
	made.JoinURL = from.JoinPath("g", r.game, "join", made.Code).String()
	return answer(w, http.StatusCreated, made)
}

// hostHeader is what a Host may be that is put into a link: a name or an
// address, and perhaps a port.
var hostHeader = regexp.MustCompile(`^([A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// pageOf is the address of the page by the name under which a request reached
// this node; https where TLS ends here, or at a proxy that is trusted to say so.
func (a *api) pageOf(r *http.Request) (*url.URL, error) {
	if !hostHeader.MatchString(r.Host) {
		return nil, badRequest("the Host is no name or address that a link could lead to")
	}
	page := &url.URL{Scheme: "http", Host: r.Host, Path: "/"}
	if a.Secure(r) {
		page.Scheme = "https"
	}
	return page, nil
}

var arenaCode = regexp.MustCompile(`^[0-9]{6}$`)

// getArena shows an arena to whoever has its code. What is no code is nobody's.
func (a *api) getArena(w http.ResponseWriter, r *request) error {
	code := r.PathValue("code")
	if !arenaCode.MatchString(code) {
		return refuse(protocol.CodeNotFound, "there is no such arena: a code has 6 digits")
	}
	var look protocol.ArenaLook
	err := a.guess(r, code, func() (err error) {
		look, err = a.Arenas.Show(r.Context(), r.game, code)
		return err
	})
	if err != nil {
		return err
	}
	look.Teams = list(look.Teams)
	return answer(w, http.StatusOK, look)
}
