package leaderboard

import "context"

// readSlice reads entries from a board, or from the archive if the day's boards were
// deleted.
func (r *Reader) readSlice(ctx context.Context, cfg Config, rankingID RankingID, request SliceRequest) (RankingSlice, error) {
	slice, err := r.source.ReadSlice(ctx, rankingID, request)
	if !slice.areBoardsDeleted(rankingID) {
		return slice, err
	}
	ranking, err := r.archive.readRanking(ctx, cfg, rankingID)
	if err != nil {
		return RankingSlice{}, err
	}
	boardState := slice.BoardState
	slice, err = ranking.slice(request)
	slice.BoardState = ranking.boardState(boardState, rankingID.Board.Span)
	return slice, err
}

// readStandings reads standings from a board, or from the archive if the day's boards
// were deleted.
func (r *Reader) readStandings(ctx context.Context, cfg Config, rankingID RankingID, ids []string) (StandingsResult, error) {
	results, err := r.source.ReadStandings(ctx, []StandingsRequest{{RankingID: rankingID, IDs: ids}})
	if err != nil {
		return StandingsResult{}, err
	}
	result := results[0]
	if !result.areBoardsDeleted(rankingID) {
		return result, nil
	}
	ranking, err := r.archive.readRanking(ctx, cfg, rankingID)
	if err != nil {
		return StandingsResult{}, err
	}
	return StandingsResult{BoardState: ranking.boardState(result.BoardState, rankingID.Board.Span), Entries: ranking.standings(ids)}, nil
}

// areBoardsDeleted reports whether the requested span is a ledger day whose boards were
// deleted.
func (s BoardState) areBoardsDeleted(rankingID RankingID) bool {
	day := rankingID.Board.Span
	return datePattern.MatchString(day) && s.FirstDay != "" && s.FirstDay <= day && day < s.OldestDay
}
