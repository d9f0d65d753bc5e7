package ws

import (
	"context"

	"laststand/internal/limit"
)

// Limits are what a node bears of connections and hellos. The zero value bears
// all but more than Config.Connections. Each Cap is told of what is refused, and
// says whether that stands; nil does, uncounted.
type Limits struct {
	PerAddress int64 // websockets of one address; 0: any number

	Full     *limit.Cap // Connections are there, or this one has one of the last places and is in no match
	Crowded  *limit.Cap // PerAddress are there of its address
	Silent   *limit.Cap // too many have said no hello yet
	Messages *limit.Cap // a session's bucket is empty

	Codes       *limit.Rule // wrong codes of arenas, of an address; nil: any number
	Hellos      *limit.Rule // of an address; nil: any number
	HellosInAll *limit.Rule // of the node; nil: any number
}

// Those with which a client comes back to a match are counted beside the others:
// a flood of these shuts out no player who is in a match.
var (
	newcomers = limit.Named("", "new")
	returning = limit.Named("", "resume")
)

// greet takes a hello of an address, or refuses it with a *protocol.Error.
func (l *Limits) greet(ctx context.Context, from limit.Key, resumes bool) error {
	if err := l.Hellos.Take(ctx, from, 1); err != nil {
		return err
	}
	if resumes {
		return l.HellosInAll.Take(ctx, returning, 1)
	}
	return l.HellosInAll.Take(ctx, newcomers, 1)
}
