package arena

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// FindRecord returns the record of an arena.
func (s *Service) FindRecord(ctx context.Context, game, arenaID string) (Record, error) {
	record, err := s.Records.Arena(ctx, game, matchID(arenaID))
	if errors.Is(err, match.ErrNotFound) || err == nil && record.ArenaID() != arenaID {
		return Record{}, protocol.Errorf(protocol.CodeNotFound, "there is no such arena, or it has been deleted")
	}
	return record, err
}

// CheckOver returns nil if an arena has ended and its result is not on its way to the
// ledger, because it has none or was settled long ago.
func (s *Service) CheckOver(ctx context.Context, r Record) error {
	view, err := s.Matches.ReadArena(ctx, r.Match)
	hasNoResult := view.RevealedQuestions() == 0 || view.EndReason == match.ReasonAbandoned
	switch {
	case errors.Is(err, match.ErrNotFound), err == nil && publicState(view.Phase) == stateOver && hasNoResult:
		return nil
	case err != nil:
		return err
	}
	return protocol.Errorf(protocol.CodeNotOver, "the arena is not over, or its result is not settled yet; retry later")
}

// ListHosted lists the arenas of a host, newest first, with their states.
func (s *Service) ListHosted(ctx context.Context, game, host, cursor string, limit int) ([]protocol.HostedArena, string, error) {
	records, next, err := s.Records.ArenasOf(ctx, game, host, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	hosted := make([]protocol.HostedArena, len(records))
	var reads errgroup.Group // ends below
	reads.SetLimit(concurrentReads)
	for i, r := range records {
		hosted[i] = protocol.HostedArena{
			ArenaID: r.ArenaID(), Name: r.Name, Mode: string(r.Mode), State: stateOver, CreatedAt: r.CreatedAt, Players: int64(r.Players), Match: r.Match,
		}
		if r.IsSettled {
			continue
		}
		reads.Go(func() error { return s.setCurrentState(ctx, &hosted[i]) })
	}
	if err := reads.Wait(); err != nil {
		return nil, "", err
	}
	return hosted, next, nil
}

// concurrentReads is how many arenas ListHosted reads at the same time.
const concurrentReads = 8

// setCurrentState sets the state, players and match of an arena without a result in the
// ledger. An arena that the match store does not have is over: it had no match, or its match
// has been deleted.
func (s *Service) setCurrentState(ctx context.Context, hosted *protocol.HostedArena) error {
	view, err := s.Matches.ReadArena(ctx, hosted.Match)
	if errors.Is(err, match.ErrNotFound) {
		hosted.Match = ""
		return nil
	}
	hosted.State, hosted.Players = publicState(view.Phase), view.Players
	if hosted.State == stateLobby {
		hosted.Match = ""
	}
	return err
}
