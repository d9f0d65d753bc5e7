package display

import (
	"cmp"
	"context"
	"sync"
	"time"

	"laststand/internal/leaderboard"
)

const (
	// mostNames bounds, by a half, the names that are kept: some 50 MB in all.
	mostNames = 1 << 17
	// nameFor is how old a name is shown, after a rename at another node.
	nameFor = 5 * time.Second
)

// names remembers what players and teams are called, nobody's ids too.
type names struct {
	source leaderboard.Names

	mu        sync.Mutex
	kept      recent[holder, name]
	forgotten int64 // counts forget: what was asked before it is not kept
}

type holder struct {
	kind     leaderboard.Kind
	game, id string
}

type name struct {
	text  string
	until time.Time
}

func newNames(source leaderboard.Names) *names {
	return &names{source: source, kept: newRecent[holder, name](mostNames)}
}

// fill puts the names of entries in. While nobody can be asked, it puts in those
// that were known last, if all were.
func (n *names) fill(ctx context.Context, game string, kind leaderboard.Kind, entries []leaderboard.Entry) error {
	at := holder{kind: cmp.Or(kind, leaderboard.Players), game: game}
	missing, old, as := n.recall(at, entries)
	if len(missing) == 0 {
		return nil
	}
	ask := n.source.Nicknames
	if at.kind == leaderboard.Teams {
		ask = n.source.TeamNames
	}
	ids := make([]string, len(missing))
	for i, e := range missing {
		ids[i] = e.ID
	}
	found, err := ask(ctx, game, ids)
	switch {
	case err != nil && old == len(missing):
		return nil
	case err != nil:
		return err
	}
	for _, e := range missing {
		e.Nickname = found[e.ID]
	}
	n.learn(at, missing, as)
	return nil
}

// recall puts in the names that are known, and gives the entries that are to be
// asked for, how many of them have an old name, and what learn is to be told.
func (n *names) recall(at holder, entries []leaderboard.Entry) (missing []*leaderboard.Entry, old int, as int64) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range entries {
		at.id = entries[i].ID
		known, ok := n.kept.get(at)
		entries[i].Nickname = known.text
		if ok && !now.After(known.until) {
			continue
		}
		missing = append(missing, &entries[i])
		if ok {
			old++
		}
	}
	return missing, old, n.forgotten
}

func (n *names) learn(at holder, entries []*leaderboard.Entry, as int64) {
	until := time.Now().Add(nameFor)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.forgotten != as {
		return
	}
	for _, e := range entries {
		at.id = e.ID
		n.kept.put(at, name{e.Nickname, until})
	}
}

// forget has a player's name asked for anew.
func (n *names) forget(game, player string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgotten++
	n.kept.drop(holder{leaderboard.Players, game, player})
}
