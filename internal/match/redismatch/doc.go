// Package redismatch stores matches in Redis. It implements the stores of package
// match, arena.Seats, arena.Codes and the list of pending results that settlement
// reads.
//
// Each match has a hash with its state, a log of its pushes and entries in the
// index of its partition. All keys of a match share the partition's hash tag,
// so that each atomic write is one Lua script. The first right answer to a
// buzzer question is a transaction under WATCH instead (race.go), because it
// may have to wait for a replica. docs/reference/storage.md lists the keys and fields.
//
// Words:
//
//   - Partition: one of 256 hash tags over which matches are spread.
//   - First: the first right answer to a buzzer question. The key first:QUESTION
//     decides it.
//   - Record: an accepted answer, the field QUESTION|PLAYER of the hash answers. It is also
//     the lock against a second answer.
//   - Tombstone: the key that prevents a match id from being used again, or at
//     all. Its suffix in Redis is ":tomb".
//   - Batch: the answers to one match that share a script.
//
// The main type is Store, a list of stores by what they hold. Start reading in
// store.go and keys.go. scripts.go lists the Lua scripts.
//
// This package must not know about nodes' sessions, timers or SQL.
package redismatch
