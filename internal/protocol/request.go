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

// Hello is the first message of every connection.
type Hello struct {
	Token  string  `json:"token" need:"true"`
	Resume *Resume `json:"resume,omitempty"`
}

// Resume names a match and the last number that the client has seen of it.
// It is the data of match.sync too.
type Resume struct {
	Match string `json:"match" need:"true"`
	Seq   int64  `json:"seq" need:"true"`
}

// Ping asks for a pong; At is a number or a text, echoed as it came.
type Ping struct {
	At json.RawMessage `json:"at" need:"true"`
}

// DuelJoin asks for an opponent. An absent wish matches any; BotAfterMS nil
// means the game's default, 0 never.
type DuelJoin struct {
	Category   string `json:"category,omitempty"`
	Lang       string `json:"lang,omitempty"`
	Difficulty string `json:"difficulty,omitempty"`
	BotAfterMS *int64 `json:"bot_after_ms,omitempty"`
}

// Empty is the data of a message that carries none.
type Empty struct{}

// Given is what an answer carries beside its match and question: exactly the
// field that the question's kind asks for.
type Given struct {
	Choice  *int            `json:"choice,omitempty"`
	Choices Indexes         `json:"choices,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
}

// Indexes are indexes of choices. In JSON none of them is null.
type Indexes []int

// UnmarshalJSON implements json.Unmarshaler.
func (x *Indexes) UnmarshalJSON(raw []byte) error {
	var all []*int
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	if all == nil {
		return nil
	}
	*x = make(Indexes, len(all))
	for i, one := range all {
		if one == nil {
			return &json.UnmarshalTypeError{Value: "list with null", Field: "choices"}
		}
		(*x)[i] = *one
	}
	return nil
}

// Answer is a player's answer. Question is nil where the client gave none.
type Answer struct {
	Match    string `json:"match"`
	Question *int   `json:"question"`
	Given
}

// MatchLeave forfeits a match.
type MatchLeave struct {
	Match string `json:"match" need:"true"`
}
