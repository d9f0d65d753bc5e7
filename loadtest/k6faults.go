package main

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// faults decides which messages break a rule. It is safe for concurrent use.
type faults struct {
	mu     sync.Mutex
	counts map[string]int // how often each fault was possible
}

// isDue reports whether this fault is due. It is due once in so many calls.
func (f *faults) isDue(fault string, every int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts = make(map[string]int)
	}
	f.counts[fault]++
	return f.counts[fault]%every == 0
}

// shouldRefuse makes the list of boards fail without saying when to retry.
func (f *faults) shouldRefuse(path string) bool {
	return strings.HasSuffix(path, "/leaderboards") && f.isDue("refusal", 2)
}

// changeFrame returns what a client receives instead of a frame. It breaks at most one rule
// per frame.
func (f *faults) changeFrame(frame []byte) [][]byte {
	text := string(frame)
	isType := func(kind string) bool { return strings.Contains(text, `"type":"`+kind+`"`) }
	switch {
	case isType("error") && strings.Contains(text, `"duplicate_answer"`): // the server accepts a second answer
		text = duplicateError.ReplaceAllString(text, `"type":"answered","data":{"question":0,"at":1,"elapsed_ms":1}}`)
	case isType("answered") && strings.Contains(text, `"first":false`): // a second player is first
		text = strings.Replace(text, `"first":false`, `"first":true`, 1)
	case isType("answered") && f.isDue("reply", 7): // a request has two replies
		return [][]byte{frame, frame}
	case isType("answer.seen") && f.isDue("seen", 5):
		return [][]byte{frame, frame}
	case isType("question") && f.isDue("same", 9): // the question differs from that of the other players
		text = strings.Replace(text, `"text":"`, `"text":"Say: `, 1)
	case isType("question.closed") && f.isDue("points", 4):
		text = string(increase("points", frame))
	case isType("question.closed") && f.isDue("given", 4):
		text = givenAnswer.ReplaceAllString(text, `"given":{"choice":7}`)
	case isType("question.closed") && f.isDue("seq", 9): // a push is missing
		return nil
	case isType("board"): // the board has no first rank
		text = string(increase("rank", frame))
	case isType("settled") && f.isDue("ledger", 3): // the rating differs from that in the ledger
		text = string(increase("rating", frame))
	case isType("match.over") && f.isDue("goes", 4):
		text = endReason.ReplaceAllString(text, `"reason":"abandoned"`)
	}
	return [][]byte{[]byte(text)}
}

var (
	duplicateError    = regexp.MustCompile(`"type":"error","data":\{.*`)
	givenAnswer       = regexp.MustCompile(`"given":\{[^}]*\}`)
	endReason         = regexp.MustCompile(`"reason":"[a-z]+"`)
	offeredBehaviours = regexp.MustCompile(`(?m)^laststand_behaviours_offered_total\{[^}]*\} \d+`)
)

// changeBody returns the changed body for a path.
func changeBody(path string, body []byte) []byte {
	switch {
	case strings.HasSuffix(path, "/behaviours"):
		return increase("accepted", body)
	case strings.Contains(path, "/matches/"):
		return increase("score", body)
	case strings.Count(path, "/leaderboards/") == 1:
		head, explained, _ := bytes.Cut(increase("rank", increase("score", body)), []byte(`"explain"`))
		if explained == nil {
			return head
		}
		return append(append(slices.Clip(head), `"explain"`...), increase("value", explained)...)
	case path == "/metrics":
		return offeredBehaviours.ReplaceAll(body, []byte("${0}1")) // ten times the number, plus one
	}
	return body
}

// increase adds one to all numbers with a name.
func increase(name string, text []byte) []byte {
	number := regexp.MustCompile(`"` + name + `":\d+`)
	return number.ReplaceAllFunc(text, func(found []byte) []byte {
		head, digits, _ := bytes.Cut(found, []byte(":"))
		n, _ := strconv.Atoi(string(digits))
		return strconv.AppendInt(append(slices.Clip(head), ':'), int64(n+1), 10)
	})
}
