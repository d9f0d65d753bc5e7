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
	TypeDraining         = "draining"
)

// Welcome answers hello.
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

// Playing names the match that the player is in and its last number.
type Playing struct {
	Match   string `json:"match"`
	Seq     int64  `json:"seq"`
	ArenaID string `json:"arena_id,omitempty"`
}

// Pong answers ping.
type Pong struct {
	At       json.RawMessage `json:"at"`
	ServerAt int64           `json:"server_at"`
}

// DuelQueued answers duel.join: the ticket, and how many tickets wait in the
// game, this one included.
type DuelQueued struct {
	Ticket  string `json:"ticket"`
	Waiting int64  `json:"waiting"`
}

// Answered answers an accepted answer; in a buzzer match it says whether the
// answer was right, and whether it was the first right one.
type Answered struct {
	Question  int   `json:"question"`
	At        int64 `json:"at"`
	ElapsedMS int64 `json:"elapsed_ms"`
	Correct   *bool `json:"correct,omitempty"`
	First     *bool `json:"first,omitempty"`
}

// AcceptedAnswer says what the server holds as the player's answer.
type AcceptedAnswer struct {
	Question  int             `json:"question"`
	Given     json.RawMessage `json:"given"`
	At        int64           `json:"at"`
	ElapsedMS int64           `json:"elapsed_ms"`
}

// SeatView is one seat as all in the match see it.
type SeatView struct {
	ID       string `json:"id"`
	Nickname string `json:"nickname"`
	Rating   *int   `json:"rating,omitempty"`
	Team     string `json:"team,omitempty"`
	Bot      bool   `json:"bot,omitempty"`
}

// MatchFound opens a match.
type MatchFound struct {
	Mode      string      `json:"mode"`
	ArenaID   string      `json:"arena_id,omitempty"`
	Questions int         `json:"questions"`
	Players   int         `json:"players"`
	Seats     []SeatView  `json:"seats,omitempty"`
	Teams     []ArenaTeam `json:"teams,omitempty"`
	StartsAt  int64       `json:"starts_at"`
}

// Question is a question as asked: no word of its answer.
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
	MaxPoints  int      `json:"max_points"`
}

// AnswerSeen says that a player of a duel has answered; never what.
type AnswerSeen struct {
	Question int    `json:"question"`
	Player   string `json:"player"`
}

// QuestionClosed reveals a question.
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
}

// First is who answered a question right before everyone else.
type First struct {
	Player    string `json:"player"`
	Nickname  string `json:"nickname"`
	Team      string `json:"team,omitempty"`
	ElapsedMS int64  `json:"elapsed_ms"`
}

// QuestionExtended gives back the time that an outage took.
type QuestionExtended struct {
	Question int   `json:"question"`
	ClosesAt int64 `json:"closes_at"`
}

// QuestionResult is what one question did to one player; Given and ElapsedMS
// are null where there was no answer.
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

// MatchOver ends a match. Winner is absent for a draw; in a match of teams it
// is a team's id.
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

// OverStanding is one player's standing at the end of a match; ratings are
// rounded to whole points, and provisional until the match is settled.
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

// MatchState is where a match stands, for a player who missed pushes that are
// no longer kept, or who asks.
type MatchState struct {
	Seq        int64           `json:"seq"`
	Phase      string          `json:"phase"`
	Found      MatchFound      `json:"found"`
	Question   *Question       `json:"question,omitempty"`
	YourAnswer *AcceptedAnswer `json:"your_answer,omitempty"`
	Out        bool            `json:"out,omitempty"`
	Own        OwnScore        `json:"own"`
	Scores     []ScoreView     `json:"scores"`
}

// OwnScore is the player's own score at the last reveal.
type OwnScore struct {
	Score int64 `json:"score"`
	Rank  int   `json:"rank,omitempty"`
}

// ScoreView is a player's score at the last reveal.
type ScoreView struct {
	Player   string `json:"player"`
	Nickname string `json:"nickname"`
	Score    int64  `json:"score"`
}

// Settled says that a result is on disk and on the boards: the player's
// standing on each window, by the order `value`.
type Settled struct {
	Match     string                     `json:"match"`
	Standings map[string]SettledStanding `json:"standings"`
	// Rating is the player's rating after a rated match, final and rounded. The
	// one in match.over was provisional.
	Rating *int `json:"rating,omitempty"`
}

// SettledStanding is one rank on one board.
type SettledStanding struct {
	Rank  int64 `json:"rank"`
	Value int64 `json:"value"`
}

// Draining tells a client to reconnect to any node and to resume.
type Draining struct {
	ReconnectAfterMS int64 `json:"reconnect_after_ms"`
}
