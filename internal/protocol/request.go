package protocol

import "encoding/json"

// The types of a client's messages.
const (
	TypeHello      = "hello"
	TypePing       = "ping"
	TypeDuelJoin   = "duel.join"
	TypeDuelLeave  = "duel.leave"
	TypeAnswer     = "answer"
	TypeMatchSync  = "match.sync"
	TypeMatchLeave = "match.leave"
)

// Hello is the data of the first message of a connection. Resume is nil if the client
// does not resume a match.
type Hello struct {
	Token  string  `json:"token" need:"true"`
	Resume *Resume `json:"resume,omitempty"`
}

// Resume names a match and the number of its last push that the client has seen, 0 for
// none. It is also the data of match.sync.
type Resume struct {
	Match string `json:"match" need:"true"`
	Seq   int64  `json:"seq" need:"true"`
}

// Ping asks for a pong. At is a number or a text, which the pong repeats.
type Ping struct {
	At json.RawMessage `json:"at" need:"true"`
}

// DuelJoin asks for an opponent. An absent category, language or difficulty matches any.
// BotAfterMS is the wait in ms until a bot plays: nil means the game's default, 0 means
// never.
type DuelJoin struct {
	Category   string `json:"category,omitempty"`
	Lang       string `json:"lang,omitempty"`
	Difficulty string `json:"difficulty,omitempty"`
	BotAfterMS *int64 `json:"bot_after_ms,omitempty"`
}

// Empty is the data of a message without data.
type Empty struct{}

// Given is the content of an answer. Exactly one field is set, the one that the question's
// kind requires.
type Given struct {
	Choice  *int            `json:"choice,omitempty"`
	Choices ChoiceIndexes   `json:"choices,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
}

// ChoiceIndexes are the indexes of the chosen choices, from 0.
type ChoiceIndexes []int

// UnmarshalJSON decodes a list of numbers. It refuses a null in the list.
func (indexes *ChoiceIndexes) UnmarshalJSON(raw []byte) error {
	var decoded []*int
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return err
	}
	if decoded == nil {
		return nil
	}
	*indexes = make(ChoiceIndexes, len(decoded))
	for i, index := range decoded {
		if index == nil {
			return &json.UnmarshalTypeError{Value: "list with null", Field: "choices"}
		}
		(*indexes)[i] = *index
	}
	return nil
}

// Answer is a player's answer to a question. Question is nil if the client sent none.
type Answer struct {
	Match    string `json:"match"`
	Question *int   `json:"question"`
	Given
}

// MatchLeave forfeits a match.
type MatchLeave struct {
	Match string `json:"match" need:"true"`
}

// The types of the messages about leaderboards. The data of `board` is the same as the
// reply to a leaderboard query over HTTP.
const (
	TypeBoardWatch   = "board.watch"
	TypeBoardUnwatch = "board.unwatch"
	TypeBoardOK      = "board.ok"
	TypeBoard        = "board"
)

// BoardWatch is the data of board.watch and board.unwatch. It names a leaderboard. Limit
// is the number of top entries to push. An absent field has the same default as over
// HTTP.
type BoardWatch struct {
	Window string `json:"window" need:"true"`
	Order  string `json:"order,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Limit  *int   `json:"limit,omitempty"`
}

// maxIDLength is the maximum length of an id, in characters.
const maxIDLength = 64

// IsMatchID returns true if a text can be the id of a match: 1 to 64 letters, digits and
// the characters _ . - of the contract. The contract also allows a colon in ids, but the
// server makes no match id with one, and a colon would form another Redis key of a match.
func IsMatchID(text string) bool {
	if text == "" || len(text) > maxIDLength {
		return false
	}
	for _, char := range []byte(text) {
		isLetter := char|0x20 >= 'a' && char|0x20 <= 'z'
		if !isLetter && (char < '0' || char > '9') && char != '_' && char != '.' && char != '-' {
			return false
		}
	}
	return true
}
