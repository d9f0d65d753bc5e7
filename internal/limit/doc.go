// Package limit bounds how often something is done. Each rule gives every key, such as
// an address or a player, a bucket of tokens (golang.org/x/time/rate) at this node. A
// cluster-wide rule has a second bucket that all nodes share.
//
// Words of the package:
//
//   - rule: a limit with a name, such as hellos per address.
//   - key: what a rule counts for.
//   - token: an action takes one or more; they come back at a fixed rate.
//   - refusal: an error of code rate_limited with a retry time, counted by its rule.
//   - dry run: the rule counts refusals and makes none.
//   - reservation: a token that is returned if an attempt was right.
//   - known secret: a code that was right for an address before.
//
// The main types are [Limiter] and [Rule]; [FailureLimiter], [ActionLimit] and [Cap]
// build on them. Start reading at Rule.Take and Rule.waitFor.
//
// The package must not know HTTP, websockets or Redis; package redislimit implements
// [Store].
package limit
