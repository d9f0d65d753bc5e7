package webhook

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

const (
	// maxListEntries is the maximum of entries in each list of a message.
	maxListEntries = 100

	// timestampLayout is ISO 8601 in UTC, with ms.
	timestampLayout = "2006-01-02T15:04:05.000Z"

	idPrefix = "evt_"
	idLength = 26 // characters, of 5 bits each
)

// event is something that happened in a game. Type, game and subject identify it.
// subject is the id of a match, also with a question, or a day.
type event struct {
	eventType, game, subject string
	occurredAt               int64               // epoch ms
	data                     func(limit int) any // returns the data with at most limit entries in each list
}

func (e *event) message() Message { return Message{ID: e.id(), Body: e.body()} }

// body returns the JSON body, with lists as long as the size limit of a task allows.
func (e *event) body() (body []byte) {
	for limit := maxListEntries; limit >= 0; limit -= 10 {
		body = protocol.EncodeJSON(envelope{e.eventType, time.UnixMilli(e.occurredAt).UTC().Format(timestampLayout), e.data(limit)})
		if len(body) <= taskqueue.MaxPayloadBytes {
			break
		}
	}
	return body
}

// id returns a hash of type, game and subject, so that each node always computes the
// same id for an event.
func (e *event) id() string {
	hash := sha256.Sum256([]byte(e.eventType + "\x00" + e.game + "\x00" + e.subject))
	return idPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(hash[:])[:idLength])
}

// envelope is the payload that Standard Webhooks 1.0.0 recommends.
type envelope struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
}

// matchData is the data of match.settled and arena.over. Standings and Teams contain
// only the highest ranks, in rank order.
type matchData struct {
	Game      string                  `json:"game"`
	Match     string                  `json:"match"`
	ArenaID   string                  `json:"arena_id,omitempty"`
	Mode      match.Mode              `json:"mode"`
	StartedAt int64                   `json:"started_at"`
	OverAt    int64                   `json:"over_at"`
	Reason    match.Reason            `json:"reason"`
	Questions int                     `json:"questions"`
	Counts    bool                    `json:"counts"` // the match counts for the leaderboards and the players' totals
	Winner    string                  `json:"winner,omitempty"`
	Players   int                     `json:"players"` // number of all players
	Standings []protocol.OverStanding `json:"standings"`
	Teams     []protocol.TeamStanding `json:"teams,omitempty"`
}

// correctionData is the data of match.corrected. It has no standings: the match has the new
// ones, for all its players.
type correctionData struct {
	Game      string     `json:"game"`
	Match     string     `json:"match"`
	ArenaID   string     `json:"arena_id,omitempty"`
	Mode      match.Mode `json:"mode"`
	OverAt    int64      `json:"over_at"`
	Question  int        `json:"question"`
	Voided    []int      `json:"voided"`
	Questions int        `json:"questions"`
	Counts    bool       `json:"counts"`
}

// settledMatchData returns a function that makes the matchData of a result, with at
// most limit standings and teams.
func settledMatchData(result *match.Result) func(limit int) any {
	return func(limit int) any {
		data := matchData{
			Game: result.Game, Match: result.Match, ArenaID: result.ArenaID, Mode: result.Mode, StartedAt: result.StartedAt, OverAt: result.OverAt, Reason: result.Reason,
			Questions: result.Questions, Counts: result.CountsForLeaderboards, Winner: result.Winner, Players: len(result.Standings), Standings: []protocol.OverStanding{},
		}
		for _, standing := range firstEntries(result.Standings, limit) {
			data.Standings = append(data.Standings, standing.View())
		}
		for _, team := range firstEntries(result.Teams, limit) {
			data.Teams = append(data.Teams, protocol.TeamStanding{Rank: team.Rank, ID: team.ID, Score: team.Score})
		}
		return data
	}
}

type dayData struct {
	Game   string           `json:"game"`
	Date   string           `json:"date"`
	Boards []dayLeaderboard `json:"boards"`
}

// dayLeaderboard is the top list of a day. Nickname of a team's entry is the team's
// name, as on all leaderboards.
type dayLeaderboard struct {
	Kind    leaderboard.Kind    `json:"kind"`
	Order   leaderboard.Order   `json:"order"`
	Total   int64               `json:"total"` // entries ranked
	Entries []leaderboard.Entry `json:"entries"`
}

func (day dayData) truncated(limit int) any {
	boards := make([]dayLeaderboard, len(day.Boards))
	for i, board := range day.Boards {
		board.Entries = firstEntries(board.Entries, limit)
		boards[i] = board
	}
	day.Boards = boards
	return day
}

func firstEntries[E any](list []E, limit int) []E { return list[:min(limit, len(list))] }
