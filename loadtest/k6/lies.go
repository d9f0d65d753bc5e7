package main

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// tongue tells the lies in turn. It is safe for concurrent use.
type tongue struct {
	mu    sync.Mutex
	turns map[string]int
}

// turn reports whether this lie is due. A lie is due once in so many calls.
func (t *tongue) turn(lie string, of int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turns == nil {
		t.turns = make(map[string]int)
	}
	t.turns[lie]++
	return t.turns[lie]%of == 0
}

// refuses makes the list of boards fail without saying when to retry.
func (t *tongue) refuses(path string) bool {
	return strings.HasSuffix(path, "/leaderboards") && t.turn("refusal", 2)
}

// frame returns what a client receives instead of a frame. It tells at most one lie per
// frame.
func (t *tongue) frame(frame []byte) [][]byte {
	one := func(output string) [][]byte { return [][]byte{[]byte(output)} }
	text := string(frame)
	is := func(kind string) bool { return strings.Contains(text, `"type":"`+kind+`"`) }
	switch {
	case is("error") && strings.Contains(text, `"duplicate_answer"`): // the server accepts a second answer
		return one(duplicate.ReplaceAllString(text, `"type":"answered","data":{"question":0,"at":1,"elapsed_ms":1}}`))
	case is("answered") && strings.Contains(text, `"first":false`): // a second player is first
		return one(strings.Replace(text, `"first":false`, `"first":true`, 1))
	case is("answered") && t.turn("reply", 7): // a request has two replies
		return [][]byte{frame, frame}
	case is("answer.seen") && t.turn("seen", 5):
		return [][]byte{frame, frame}
	case is("question") && t.turn("same", 9): // the question differs from that of the other players
		return one(strings.Replace(text, `"text":"`, `"text":"Say: `, 1))
	case is("question.closed") && t.turn("points", 4):
		return [][]byte{more("points", frame)}
	case is("question.closed") && t.turn("given", 4):
		return one(given.ReplaceAllString(text, `"given":{"choice":7}`))
	case is("question.closed") && t.turn("seq", 9): // a push is missing
		return nil
	case is("board"): // the board has no first rank
		return [][]byte{more("rank", frame)}
	case is("settled") && t.turn("ledger", 3): // the rating differs from that in the ledger
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

// more adds one to all numbers with a name.
func more(name string, text []byte) []byte {
	number := regexp.MustCompile(`"` + name + `":\d+`)
	return number.ReplaceAllFunc(text, func(found []byte) []byte {
		head, digits, _ := bytes.Cut(found, []byte(":"))
		n, _ := strconv.Atoi(string(digits))
		return strconv.AppendInt(append(slices.Clip(head), ':'), int64(n+1), 10)
	})
}
