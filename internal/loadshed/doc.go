// Package loadshed decides which work an overloaded node refuses, so that running
// matches continue. It refuses reading and watching first, then also new guests, then new
// sessions, and then joining. It never refuses a player who returns to a match.
//
// Words of the package:
//
//   - signal: a measure of load, such as memory, scheduler lag or requests under way.
//   - level: 0 to 5, the highest level of all signals; a higher level refuses more kinds.
//   - kind: a kind of work that can be refused.
//   - lag: how long runnable goroutines wait for a processor.
//   - busy: the share of the processors in use, 0 to 1.
//   - duel limit: how many players this node accepts for duels, computed from lag and busy.
//   - admission queue: admits new hellos one after the other while there is lag.
//
// The main types are [Shedder] and [DuelLimit]. Start reading at Shedder.Check and
// Shedder.update, then DuelLimit.Acquire and limitController.update.
//
// The package must not know sessions, matches or HTTP. Limits of single clients are in
// package limit.
package loadshed
