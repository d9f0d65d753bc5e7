// Package redisnames reserves suggested nicknames in Redis. It implements
// identity.NameReservations.
//
// Each call is one script, so that no two requesters get the same name.
//
// Words: a reservation keeps a name for one requester for a short time. A skeleton
// is a nickname reduced to the part that makes it unique.
//
// The main type is [Store]. Start reading at Store.Reserve and reserve.lua; keys.go
// lists the keys.
//
// The package must not know how names are made.
package redisnames
