// Package overload decides which work a node refuses, so that running matches continue: per
// client by rate limits, and for all clients by the load of the node.
//
// Words of the package:
//
//   - rule: a rate limit with a name. Each key, such as an address or a player, has a bucket
//     of tokens (generic cell rate algorithm). All nodes share the buckets of a cluster-wide rule.
//   - dry run: a rule counts refusals and makes none.
//   - debt: tokens below zero, which refill before the next action is allowed.
//   - known secret: a code that was right for an address before.
//   - signal: a measure of load, such as memory, scheduler lag or requests under way.
//   - level: 0 to 5, the highest level of all signals; a higher level refuses more kinds.
//   - kind: a kind of work that can be refused.
//   - lag: how long runnable goroutines wait for a processor.
//   - busy: the share of the processors in use, 0 to 1.
//   - duel limit: how many players this node accepts for duels, computed from lag and busy.
//   - admission queue: admits new hellos one after the other while there is lag.
//
// Start reading at Rule.Take and Shedder.Check, then duellimit.go. [FailureLimiter] and
// [ActionLimit] build on rules. [Places] shares the connections of a node among addresses.
//
// The package must not know sessions, matches, HTTP or Redis; package redisstore implements
// [Store].
package overload
