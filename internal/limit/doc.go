// Package limit limits the rate of actions. A rule has a bucket of tokens
// (golang.org/x/time/rate) at this node for each key, such as an address or a player. A
// cluster-wide rule also has a bucket per key that all nodes share.
//
// Words of the package:
//
//   - rule: a limit with a name, such as hellos per address.
//   - key: the address, player or other object whose actions a rule counts.
//   - token: an action takes one or more; the bucket refills at a fixed rate.
//   - refusal: an error of code rate_limited with a retry time, counted by its rule.
//   - dry run: the rule counts refusals and makes none.
//   - debt: tokens below zero, which refill before the next action is allowed.
//   - reservation: a token that is returned if an attempt succeeds.
//   - known secret: a code that was right for an address before.
//
// The main types are [Limiter] and [Rule]; [FailureLimiter], [ActionLimit] and [Cap]
// build on them. Start reading at Rule.Take and Rule.waitTime.
//
// The package must not know HTTP, websockets or Redis; package redisstore implements
// [Store].
package limit
