// Package ops serves operators on an address of its own: metrics, profiles, and the
// admin API. The API covers tasks, leaderboards, results, behaviour queues,
// webhooks, bans, revocations, keys and the audit log.
//
// Words: an operation is one method and path of the API. Each change is an entry of
// the audit log: the server writes it before the change and completes it afterwards.
// A problem is the JSON body of an error (problem.go).
//
// The entry point is [New], which returns an http.Handler. Start reading at
// routes.go, which lists all operations, then audit.go. There is one file for each
// subject of the API.
//
// The package must not know SQL, Redis or the rules of a subject. Config supplies
// the interfaces that do the work.
package ops
