package players

import (
	"encoding/json"

	"laststand/internal/protocol"
)

// ArbitraryAnswer returns a well-formed answer to a question of any kind. It is right only
// by chance.
func ArbitraryAnswer(q protocol.Question) protocol.Given {
	zero := 0
	switch q.Kind {
	case "single", "boolean":
		return protocol.Given{Choice: &zero}
	case "multiple":
		return protocol.Given{Choices: []int{0}}
	case "number":
		return protocol.Given{Value: json.RawMessage("42")}
	}
	return protocol.Given{Value: json.RawMessage(`"guess"`)}
}

// OtherAnswer returns an answer to the question that differs from the given one.
func OtherAnswer(q protocol.Question, g protocol.Given) protocol.Given {
	switch {
	case g.Choice != nil:
		next := (*g.Choice + 1) % len(q.Choices)
		return protocol.Given{Choice: &next}
	case len(g.Choices) == 1:
		return protocol.Given{Choices: []int{(g.Choices[0] + 1) % len(q.Choices)}}
	case len(g.Choices) > 1:
		return protocol.Given{Choices: g.Choices[:1]}
	case q.Kind == "number":
		return protocol.Given{Value: json.RawMessage("-77")}
	}
	return protocol.Given{Value: json.RawMessage(`"something else"`)}
}
