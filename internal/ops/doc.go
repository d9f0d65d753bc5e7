// Package ops serves the operators' listener, which has its own address: metrics,
// profiles, and the admin API. The admin API covers tasks, leaderboards, results,
// behaviour queues, webhooks, bans, revocations, keys and the audit log.
//
// Words: an operator is the person with an admin token, the actor in the audit log. An
// operation, or route, is one method and path of the admin API. For each change the
// server writes an entry of the audit log before the change and completes it afterwards.
// A problem is the JSON body of an error (httpserver.Problem).
//
// The entry point is [New], which returns an http.Handler. Start reading at ops.go; then
// a file of routes, such as tasks.go, then audit.go and request.go. Each subject of the
// API has a type, such as taskRoutes, with its operations. Their responses are exported
// types, which the commands decode.
//
// The package must not know SQL, Redis or the rules of a subject. Config supplies
// the interfaces that do the work.
package ops
