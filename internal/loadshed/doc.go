// Package loadshed decides which work an overloaded node refuses, so that running
// matches continue. Reading is refused first, then watching, new guests, new sessions
// and joining. A player who returns to a match is never refused.
//
// Words of the package:
//
//   - signal: a measure of load, such as memory, scheduler lag or requests under way.
//   - level: 0 to 5, the highest level of all signals; each refuses more kinds.
//   - kind: a kind of work that can be refused.
//   - lag: how long runnable goroutines wait for a processor.
//   - duel limit: how many players this node accepts for duels, from lag and load.
//   - admission queue: spaces out new hellos while there is lag.
//
// The main types are [Shedder] and [DuelLimit]. Start reading at Shedder.Check and
// Shedder.update, then DuelLimit.Acquire and limitController.update.
//
// The package must not know sessions, matches or HTTP. Limits of single clients are in
// package limit.
package loadshed
