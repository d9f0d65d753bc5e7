// Package redisboard keeps leaderboards in Redis, one master or a cluster.
//
// What an entry's parts become and where it ranks is reckoned in Go; scripts
// only compare a stamp and write what they are given, or read at one moment.
// So they are the same everywhere, and none does more work than its arguments.
package redisboard
