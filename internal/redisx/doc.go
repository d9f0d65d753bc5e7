// Package redisx connects to Redis. The flag --redis selects an embedded server inside the
// process, a single server, the master that sentinels know, or a cluster. The Redis adapters
// use [JoinScript] to read their Lua scripts, and [Reply] to read the values of a script.
//
// Words of this package:
//
//   - kind: one of the four ways to connect.
//   - reference: the Redis master whose clock cluster time follows.
//   - cluster time: the time on which all nodes agree; see [Clock].
//   - reading: one answer of the reference with the local times around it.
//   - slew: cluster time that runs slower until it equals the time of the reference.
//   - record: the newest cluster time of any node, stored in Redis.
//   - inbox: the channel on which a node receives messages of other nodes.
//
// The main types are [Conn], [Clock] and [Inbox]. Start reading with Open in conn.go,
// Clock in clock.go and Inbox in inbox.go.
//
// The package must not know games, matches or any key of another package.
package redisx
