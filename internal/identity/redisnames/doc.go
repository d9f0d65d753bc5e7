// Package redisnames reserves suggested nicknames in Redis. It implements
// identity.NameReservations.
//
// Each call of Reserve is one script, so that no two requesters get the same name.
//
// Words: a reservation means that only one requester can claim a name, for 20 s. A
// skeleton is a nickname reduced to what makes it unique.
//
// The main type is [Store]. Start reading at Store.Reserve and reserve.lua; keys.go
// lists the keys.
//
// The package must not know how nicknames are generated.
package redisnames
