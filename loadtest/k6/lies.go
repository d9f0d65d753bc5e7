package main

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// tongue tells lies by turns. It is safe for concurrent use.
type tongue struct {
	mu    sync.Mutex
	turns map[string]int
}

// turn is whether it is this lie's turn, one time of so many.
func (t *tongue) turn(lie string, of int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turns == nil {
		t.turns = make(map[string]int)
	}
	t.turns[lie]++
	return t.turns[lie]%of == 0
}

// refuses has the list of boards be refused, without a word of when to come again.
func (t *tongue) refuses(path string) bool {
	return strings.HasSuffix(path, "/leaderboards") && t.turn("refusal", 2)
}

// frame is what a frame to a client becomes: one lie at most each.
func (t *tongue) frame(frame []byte) [][]byte {
	one := func(output string) [][]byte { return [][]byte{[]byte(output)} }
	text := string(frame)
	is := func(kind string) bool { return strings.Contains(text, `"type":"`+kind+`"`) }
	switch {
	case is("error") && strings.Contains(text, `"duplicate_answer"`): // a second answer is accepted
		return one(duplicate.ReplaceAllString(text, `"type":"answered","data":{"question":0,"at":1,"elapsed_ms":1}}`))
	case is("answered") && strings.Contains(text, `"first":false`): // a second one is first
		return one(strings.Replace(text, `"first":false`, `"first":true`, 1))
	case is("answered") && t.turn("reply", 7): // told twice
		return [][]byte{frame, frame}
	case is("answer.seen") && t.turn("seen", 5):
		return [][]byte{frame, frame}
	case is("question") && t.turn("same", 9): // not what the others are told
		return one(strings.Replace(text, `"text":"`, `"text":"Say: `, 1))
	case is("question.closed") && t.turn("points", 4):
		return [][]byte{more("points", frame)}
	case is("question.closed") && t.turn("given", 4):
		return one(given.ReplaceAllString(text, `"given":{"choice":7}`))
	case is("question.closed") && t.turn("seq", 9): // missing
		return nil
	case is("board"): // nobody is first
		return [][]byte{more("rank", frame)}
	case is("settled") && t.turn("ledger", 3): // not the rating of the ledger
		return [][]byte{more("rating", frame)}
	case is("match.over") && t.turn("goes", 4):
		return one(reason.ReplaceAllString(text, `"reason":"abandoned"`))
	}
	return [][]byte{frame}
}

var (
	duplicate = regexp.MustCompile(`"type":"error","data":\{.*`)
	given     = regexp.MustCompile(`"given":\{[^}]*\}`)
	reason    = regexp.MustCompile(`"reason":"[a-z]+"`)
	offered   = regexp.MustCompile(`(?m)^laststand_behaviours_offered_total\{[^}]*\} \d+`)
)

// more adds one to all numbers of a name.
func more(name string, text []byte) []byte {
	number := regexp.MustCompile(`"` + name + `":\d+`)
	return number.ReplaceAllFunc(text, func(found []byte) []byte {
		head, digits, _ := bytes.Cut(found, []byte(":"))
		n, _ := strconv.Atoi(string(digits))
		return strconv.AppendInt(append(slices.Clip(head), ':'), int64(n+1), 10)
	})
}
