// Package audit says what is kept of acts: requests by which operators change
// something. An act is written before it is done and again when it has ended, so
// that one which a crash cut short has left a trace.
package audit

import (
	"errors"
	"strings"
	"unicode"
)

// Act is one of them.
type Act struct {
	ID      string `json:"id"`                 // the request's too
	At      int64  `json:"at"`                 // by the ledger's clock, epoch ms
	By      string `json:"by"`                 // whom the token spoke for
	What    string `json:"what"`               // method and route
	Game    string `json:"game,omitempty"`     // "" where it is of none
	Target  string `json:"target,omitempty"`   // what it was done to, as "match=m_1 player=p_2"
	Status  int    `json:"status,omitempty"`   // that it was answered with; 0: under way, or nobody knows
	EndedAt int64  `json:"ended_at,omitempty"` // 0: it has not
}

// Filter chooses acts; empty fields choose all.
type Filter struct{ Game, By string }

// ErrBadCursor is of a cursor that was not given with a page of acts.
var ErrBadCursor = errors.New("the cursor is none of a list of acts")

// maxText bounds a text of an act, in characters.
const maxText = 200

// Text is a text as an act holds it: short, on one line, and such as a database
// takes.
func Text(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return s
}
