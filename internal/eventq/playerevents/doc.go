// Package playerevents reports the server's own players as behaviours: online,
// offline, and the start and end of their matches.
//
// Words: a session is the stay of a player at a node, from online to offline. A
// session record is its stored form. A dead node is one that has not renewed its
// sessions for deadAfterMS. The owner of a partition reports the offlines of sessions
// at dead nodes.
//
// The main type is [Service]. Start reading at Service.Enter in service.go, then
// sync.go, which keeps the SessionStore up to date, and deadnodes.go.
//
// The package must not know Redis, websockets or the queue behind Config.Offer.
package playerevents
