package redisqueue

import (
	"bytes"
	"strconv"

	"laststand/internal/eventq"
)

// phrases are what most bodies have in common, in the order in which they have
// it. Each is kept as the byte of its place, which no JSON has: Redis takes longer
// to move such text than it takes to shorten it. phraseID goes on with the item's
// id and what is between that and the type, phraseAt with its time.
var phrases = [...]string{
	phraseID: `{"id":"`, phraseAt: `","at":`, 3: `,"player":"`, 4: `","device":"`, 5: `","session":"`,
	6: `","account":"guest"`, 7: `","account":"verified","pi":"`, 8: `,"data":{"`,
}

const (
	phraseID = 1
	phraseAt = 2
	idEnd    = `","type":"`
)

// shorten appends an item's body with bytes for phrases.
func shorten(out []byte, item *eventq.Item) []byte {
	rest := item.Body
	if after, ok := bytes.CutPrefix(rest, []byte(phrases[phraseID])); ok && bytes.HasPrefix(after, []byte(item.ID)) {
		if after, ok = bytes.CutPrefix(after[len(item.ID):], []byte(idEnd)); ok {
			out, rest = append(out, phraseID), after
		}
	}
	for next := phraseAt; ; {
		from := bytes.IndexByte(rest, '"') // with a comma before it, where a value is no string
		if from > 0 && rest[from-1] == ',' {
			from--
		}
		phrase, length := phraseIn(rest, from, next, item.At)
		if phrase == 0 {
			return append(out, rest...)
		}
		out = append(append(out, rest[:from]...), byte(phrase))
		rest, next = rest[from+length:], phrase+1
	}
}

// phraseIn finds which phrase there is at a place, of those from next on, and its
// length; 0 where there is none.
func phraseIn(body []byte, from, next int, at int64) (phrase, length int) {
	for i := next; from >= 0 && i < len(phrases); i++ {
		after, ok := bytes.CutPrefix(body[from:], []byte(phrases[i]))
		if !ok {
			continue
		}
		if i == phraseAt {
			var room [20]byte
			after, ok = bytes.CutPrefix(after, strconv.AppendInt(room[:0], at, 10))
		}
		if ok {
			return i, len(body) - from - len(after)
		}
	}
	return 0, 0
}

// expand appends what was shortened.
func expand(out []byte, short string, item *eventq.Item) []byte {
	from := 0
	for i := range len(short) {
		c := short[i]
		if c-1 >= byte(len(phrases)-1) {
			continue
		}
		out = append(append(out, short[from:i]...), phrases[c]...)
		switch from = i + 1; c {
		case phraseID:
			out = append(append(out, item.ID...), idEnd...)
		case phraseAt:
			out = strconv.AppendInt(out, item.At, 10)
		}
	}
	return append(out, short[from:]...)
}
