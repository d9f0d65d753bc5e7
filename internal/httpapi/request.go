package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// request is an HTTP request for a known game.
type request struct {
	*http.Request
	w      http.ResponseWriter
	game   string           // "": the path has none
	query  url.Values       // only the allowed parameters, each once and with a value
	claims identity.Claims  // of the client, if the route authenticates it
	slot   *concurrencySlot // nil: the route needs none
}

// handler carries out a request and returns the response; see httpserver.Respond. If
// the error is not nil, the response does not count.
type handler func(*request) (response any, err error)

func withBody[Body any](maxBytes int64, handle func(*request, *Body) (any, error)) handler {
	return func(r *request) (any, error) {
		var body Body
		if err := r.readBody(maxBytes, &body); err != nil {
			return nil, err
		}
		return handle(r, &body)
	}
}

// withPage returns a handler that reads the query parameters limit, up to maxLimit, and
// cursor, and then calls handle.
func withPage(maxLimit int, handle func(*request, paging) (any, error)) handler {
	return func(r *request) (any, error) {
		page, err := readPaging(r.query, maxLimit)
		if err != nil {
			return nil, err
		}
		return handle(r, page)
	}
}

// concurrencySlot is one request's place in the limit of concurrent requests. The
// request has the slot only while the node works for it, not while it waits for the
// body or writes the response. Otherwise slow clients could occupy all slots. Only the
// goroutine of the request may use it. A nil slot is for requests without a limit.
type concurrencySlot struct {
	shedder     LoadShedder
	releaseSlot func() // nil if the slot is not held
}

// acquire takes a slot, or returns the refusal.
func (s *concurrencySlot) acquire() (err error) {
	if s == nil {
		return nil
	}
	s.releaseSlot, err = s.shedder.Acquire(overload.Requests)
	return err
}

// release returns the slot. It does nothing if the slot is not held.
func (s *concurrencySlot) release() {
	if s != nil && s.releaseSlot != nil {
		s.releaseSlot()
		s.releaseSlot = nil
	}
}

// maxBody is the default maximum size of a request body in bytes.
const maxBody = 1 << 20

// readBody decodes a JSON object into target, a pointer to a struct. Like the
// websocket it refuses unknown fields, fields whose names differ only in upper
// and lower case, and values of a wrong type. The error names the field.
func (r *request) readBody(maxBytes int64, target any) error {
	r.slot.release() // the read waits for the client
	body, err := httpserver.ReadJSON(r.w, r.Request, maxBytes)
	if err == nil {
		err = r.slot.acquire()
	}
	if err != nil {
		return err
	}
	return decodeBody(body, target)
}

func decodeBody(body []byte, target any) error {
	return protocol.Request{Type: "the body", Data: body}.Decode(target)
}

type paging struct {
	limit  int
	cursor string
}

// readPaging reads the query parameters limit and cursor. The default of the limit is the
// same as for leaderboards.
func readPaging(query url.Values, maxLimit int) (paging, error) {
	limit, err := httpserver.ReadLimit(query, leaderboard.DefaultLimit, maxLimit)
	return paging{limit, query.Get("cursor")}, err
}

// offsetPrefix marks a cursor that is an offset into a list that never changes.
const offsetPrefix = "o"

func offsetCursor(n int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(offsetPrefix + strconv.Itoa(n)))
}

// indexRange returns the indexes from to to-1 of the page in a list of n
// elements, and the cursor of the next page. The cursor after the last page is
// "". The list must never change, since cursors contain indexes.
func (p paging) indexRange(n int) (from, to int, next string, err error) {
	if p.cursor != "" {
		raw, _ := base64.RawURLEncoding.DecodeString(p.cursor)
		from, _ = strconv.Atoi(strings.TrimPrefix(string(raw), offsetPrefix))
		if from < 1 || from >= n || offsetCursor(from) != p.cursor {
			return 0, 0, "", match.ErrBadCursor
		}
	}
	to = min(n, from+p.limit)
	if to < n {
		next = offsetCursor(to)
	}
	return from, to, next, nil
}
