package protocol

import "encoding/json"

// The types of the server's replies and pushes.
const (
	TypeError            = "error"
	TypeWelcome          = "welcome"
	TypePong             = "pong"
	TypeDuelQueued       = "duel.queued"
	TypeDuelLeft         = "duel.left"
	TypeAnswered         = "answered"
	TypeMatchState       = "match.state"
	TypeMatchLeft        = "match.left"
	TypeMatchFound       = "match.found"
	TypeQuestion         = "question"
	TypeQuestionExtended = "question.extended"
	TypeAnswerSeen       = "answer.seen"
	TypeQuestionClosed   = "question.closed"
	TypeMatchOver        = "match.over"
	TypeSettled          = "settled"
	TypeMatchCorrected   = "match.corrected"
	TypeDraining         = "draining"
)

// Welcome is the reply to hello. ServerAt is the server's time in epoch ms. PingMS is the
// time between two pings.
type Welcome struct {
	Version  int      `json:"version"`
	PlayerID string   `json:"player_id"`
	Nickname string   `json:"nickname"`
	Game     string   `json:"game"`
	Session  string   `json:"session"`
	ServerAt int64    `json:"server_at"`
	PingMS   int64    `json:"ping_ms"`
	Playing  *Playing `json:"playing,omitempty"`
}

// Playing names the match that the player is in, and the number of its last push.
type Playing struct {
	Match   string `json:"match"`
	Seq     int64  `json:"seq"`
	ArenaID string `json:"arena_id,omitempty"`
}

// Pong is the reply to ping. At is what the client sent; ServerAt is epoch ms.
type Pong struct {
	At       json.RawMessage `json:"at"`
	ServerAt int64           `json:"server_at"`
}

// DuelQueued is the reply to duel.join. Waiting is the number of tickets that wait in the
// game, including this one.
type DuelQueued struct {
	Ticket  string `json:"ticket"`
	Waiting int64  `json:"waiting"`
}

// Answered is the reply to an accepted answer. At is when the server received the answer,
// in epoch ms. Correct and First are set only in a buzzer match: whether the answer was
// right, and whether it was the first right one.
type Answered struct {
	Question  int   `json:"question"`
	At        int64 `json:"at"`
	ElapsedMS int64 `json:"elapsed_ms"`
	Correct   *bool `json:"correct,omitempty"`
	First     *bool `json:"first,omitempty"`
}

// AcceptedAnswer is the answer of a player that counts for a question.
type AcceptedAnswer struct {
	Question  int             `json:"question"`
	Given     json.RawMessage `json:"given"`
	At        int64           `json:"at"`
	ElapsedMS int64           `json:"elapsed_ms"`
}

// SeatView is the public part of a seat, which all players of the match get.
type SeatView struct {
	ID       string `json:"id"`
	Nickname string `json:"nickname"`
	Rating   *int   `json:"rating,omitempty"`
	Team     string `json:"team,omitempty"`
	Bot      bool   `json:"bot,omitempty"`
}

// MatchFound is the first push of a match. StartsAt is epoch ms.
type MatchFound struct {
	Mode      string      `json:"mode"`
	ArenaID   string      `json:"arena_id,omitempty"`
	Questions int         `json:"questions"`
	Players   int         `json:"players"`
	Seats     []SeatView  `json:"seats,omitempty"`
	Teams     []ArenaTeam `json:"teams,omitempty"`
	StartsAt  int64       `json:"starts_at"`
	Scoring   Scoring     `json:"scoring"`
}

// Scoring says how many points an answer scores. Preset is speed or accuracy. Points are
// those for a right answer without speed. Penalty is taken for a wrong one. Streak is
// added for each right answer in a row before it, at most five times. With Partial, an
// answer with several choices can score a part of its points.
type Scoring struct {
	Preset  string `json:"preset"`
	Points  int64  `json:"points"`
	Penalty int64  `json:"penalty,omitempty"`
	Streak  int64  `json:"streak,omitempty"`
	Partial bool   `json:"partial,omitempty"`
}

// Question is the push that asks a question. It contains nothing of the solution. Question
// is its index from 0, Of the number of questions, OpensAt and ClosesAt are epoch ms.
// Points multiplies the points of its answers. Before ReadsUntil it accepts none.
type Question struct {
	Question   int      `json:"question"`
	Of         int      `json:"of"`
	Kind       string   `json:"kind"`
	Text       string   `json:"text"`
	Choices    []string `json:"choices,omitempty"`
	Category   string   `json:"category"`
	Difficulty string   `json:"difficulty"`
	Lang       string   `json:"lang"`
	Media      string   `json:"media,omitempty"`
	OpensAt    int64    `json:"opens_at"`
	ClosesAt   int64    `json:"closes_at"`
	MaxPoints  int64    `json:"max_points"`
	Points     int64    `json:"points"`
	ReadsUntil *int64   `json:"reads_until,omitempty"`
}

// AnswerSeen is the push that a player of a duel has answered. It does not contain the
// answer.
type AnswerSeen struct {
	Question int    `json:"question"`
	Player   string `json:"player"`
}

// QuestionClosed is the push that a question is closed, with its solution and results.
// Answered is the number of answers, Right the number of right ones. Void means that the
// question does not count. Counts and Top are set in an arena: how many chose each choice,
// and the most frequent numbers or texts, at most five. Teams is set in a race of teams.
type QuestionClosed struct {
	Question    int              `json:"question"`
	Reason      string           `json:"reason"`
	Answer      any              `json:"answer"`
	Explanation string           `json:"explanation,omitempty"`
	Answered    int64            `json:"answered"`
	Right       int64            `json:"right"`
	Results     []QuestionResult `json:"results"`
	First       *First           `json:"first,omitempty"`
	Void        bool             `json:"void,omitempty"`
	Counts      []int64          `json:"counts,omitempty"`
	Top         []ValueCount     `json:"top,omitempty"`
	Teams       []TeamStanding   `json:"teams,omitempty"`
}

// ValueCount is how many players answered a question with a number or a text. A text is
// folded, see package quiz.
type ValueCount struct {
	Value any   `json:"value"`
	N     int64 `json:"n"`
}

// First is the player with the first right answer to a question.
type First struct {
	Player    string `json:"player"`
	Nickname  string `json:"nickname"`
	Team      string `json:"team,omitempty"`
	ElapsedMS int64  `json:"elapsed_ms"`
}

// QuestionExtended is the push that a question closes later, because an outage took some
// of its time. ClosesAt is epoch ms.
type QuestionExtended struct {
	Question int   `json:"question"`
	ClosesAt int64 `json:"closes_at"`
}

// QuestionResult is the result of one player in one question. Given and ElapsedMS are null
// if the player sent no answer.
type QuestionResult struct {
	Player    string          `json:"player"`
	Nickname  string          `json:"nickname"`
	Given     json.RawMessage `json:"given"`
	Correct   bool            `json:"correct"`
	ElapsedMS *int64          `json:"elapsed_ms"`
	Points    int64           `json:"points"`
	Score     int64           `json:"score"`
	Out       bool            `json:"out,omitempty"`
}

// MatchOver is the last numbered push of a match. Winner is a player's id, in a match of
// teams a team's id, and absent for a draw.
type MatchOver struct {
	Reason    string         `json:"reason"`
	Standings []OverStanding `json:"standings"`
	Teams     []TeamStanding `json:"teams,omitempty"`
	Winner    string         `json:"winner,omitempty"`
}

// TeamStanding is a team's standing at the end of a match.
type TeamStanding struct {
	Rank  int    `json:"rank"`
	ID    string `json:"id"`
	Score int64  `json:"score"`
}

// OverStanding is one player's standing at the end of a match. Rating and RatingDelta are
// rounded to whole points, and provisional until the match is settled. TimeMS is the
// player's total answer time.
type OverStanding struct {
	Rank        int    `json:"rank"`
	Player      string `json:"player"`
	Nickname    string `json:"nickname"`
	Team        string `json:"team,omitempty"`
	Score       int64  `json:"score"`
	Correct     int    `json:"correct"`
	Answered    int    `json:"answered"`
	Asked       int    `json:"asked"`
	TimeMS      int64  `json:"time_ms"`
	Rating      *int   `json:"rating,omitempty"`
	RatingDelta *int   `json:"rating_delta,omitempty"`
}

// MatchState is the reply to match.sync: the current state of a match. A client that has
// missed pushes that the server no longer stores needs it.
type MatchState struct {
	Seq         int64           `json:"seq"`
	Phase       string          `json:"phase"`
	Found       MatchFound      `json:"found"`
	Question    *Question       `json:"question,omitempty"`
	YourAnswer  *AcceptedAnswer `json:"your_answer,omitempty"`
	OwnDeadline *OwnDeadline    `json:"own_deadline,omitempty"`
	Out         bool            `json:"out,omitempty"`
	Own         OwnScore        `json:"own"`
	Scores      []ScoreView     `json:"scores"`
}

// OwnScore is the receiving player's score when the last question closed.
type OwnScore struct {
	Score int64 `json:"score"`
	Rank  int   `json:"rank,omitempty"`
}

// ScoreView is a player's score when the last question closed.
type ScoreView struct {
	Player   string `json:"player"`
	Nickname string `json:"nickname"`
	Score    int64  `json:"score"`
}

// Settled is the push that a result is stored in the ledger and on the leaderboards.
// Standings holds the player's standing by window, in the order `value`.
type Settled struct {
	Match     string                     `json:"match"`
	Standings map[string]SettledStanding `json:"standings"`
	// Rating is the player's rating after a rated match, final and rounded. The
	// one in match.over was provisional.
	Rating *int `json:"rating,omitempty"`
}

// SettledStanding is a player's rank and value on one leaderboard.
type SettledStanding struct {
	Rank  int64 `json:"rank"`
	Value int64 `json:"value"`
}

// MatchCorrected is the push that a settled match was counted again without a question. It has
// the player's new score and rank.
type MatchCorrected struct {
	Match    string `json:"match"`
	Question int    `json:"question"`
	Score    int64  `json:"score"`
	Rank     int    `json:"rank"`
}

// Draining is the push that the node is going to stop. The client should reconnect after
// ReconnectAfterMS, to any node, and resume.
type Draining struct {
	ReconnectAfterMS int64 `json:"reconnect_after_ms"`
}
