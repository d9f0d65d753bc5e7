package identity

import (
	"context"

	"laststand/internal/nickname"
)

// knownNames is this node's view of the nicknames of a game: what is not in it
// is free, as far as this node knows; what is in it may be taken.
type knownNames struct {
	filter *nickname.Filter
	readAt int64 // when the last whole reading began, epoch ms; 0: never. Open's, then Run's
}

// The filter's size, some 310 KB a game. Beyond so many names more of them have
// to be asked about, and nothing is refused for it.
const (
	filterNames = 1 << 18
	filterRate  = 0.01
)

func newKnownNames() *knownNames {
	return &knownNames{filter: nickname.NewFilter(filterNames, filterRate)}
}

func (k *knownNames) has(n nickname.Name) bool { return k.filter.MayHave(n.Skeleton) }

func (k *knownNames) add(n nickname.Name) { k.filter.Add(n.Skeleton) }

func (k *knownNames) reread(ctx context.Context, names Names, game string, now int64) error {
	since := max(0, k.readAt-rereadOverlap.Milliseconds())
	if err := names.EachSkeleton(ctx, game, since, k.filter.Add); err != nil {
		return err
	}
	k.readAt = now
	return nil
}
