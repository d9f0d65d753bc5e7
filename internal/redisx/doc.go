// Package redisx connects to Redis, as the flag --redis says: to an embedded server
// inside the process, to a single server, through sentinels, or to a cluster.
//
// Words of this package:
//
//   - kind: one of the four ways to connect.
//   - reference: the Redis master whose clock cluster time follows.
//   - cluster time: the time on which all nodes agree; see [Clock].
//   - reading: one answer of the reference with the local times around it.
//   - slew: cluster time that runs slower until it meets the reference.
//   - inbox: the channel on which a node receives messages of other nodes.
//
// The main types are [Conn], [Clock] and [Inbox]. Start reading with Open in conn.go,
// Clock in clock.go and Inbox in inbox.go.
//
// The package must not know games, matches or any key of another package.
package redisx
