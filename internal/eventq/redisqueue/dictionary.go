package redisqueue

import (
	"bytes"
	"strconv"

	"laststand/internal/eventq"
)

// dictionary holds the texts that most bodies have in common, in the order in
// which they occur. A body stores each as the byte of its index, which JSON never
// contains. Redis takes longer to move such text than this node takes to compress
// it. tokenID also stands for the item's id and the text up to the type. tokenTime
// also stands for the item's time.
var dictionary = [...]string{
	tokenID: `{"id":"`, tokenTime: `","at":`, 3: `,"player":"`, 4: `","device":"`, 5: `","session":"`,
	6: `","account":"guest"`, 7: `","account":"verified","pi":"`, 8: `,"data":{"`,
}

const (
	tokenID   = 1
	tokenTime = 2
	idEnd     = `","type":"`
)

// compress appends an item's body, with tokens for texts of the dictionary.
func compress(out []byte, item *eventq.Item) []byte {
	rest := item.Body
	if after, ok := bytes.CutPrefix(rest, []byte(dictionary[tokenID])); ok && bytes.HasPrefix(after, []byte(item.ID)) {
		if after, ok = bytes.CutPrefix(after[len(item.ID):], []byte(idEnd)); ok {
			out, rest = append(out, tokenID), after
		}
	}
	for next := tokenTime; ; {
		from := bytes.IndexByte(rest, '"') // preceded by a comma if a value is not a string
		if from > 0 && rest[from-1] == ',' {
			from--
		}
		token, length := findToken(rest, from, next, item.At)
		if token == 0 {
			return append(out, rest...)
		}
		out = append(append(out, rest[:from]...), byte(token))
		rest, next = rest[from+length:], token+1
	}
}

// findToken returns which token, from next on, fits at a place, and the length of
// its text. It returns 0 if none fits.
func findToken(body []byte, from, next int, at int64) (token, length int) {
	for i := next; from >= 0 && i < len(dictionary); i++ {
		after, ok := bytes.CutPrefix(body[from:], []byte(dictionary[i]))
		if !ok {
			continue
		}
		if i == tokenTime {
			var room [20]byte
			after, ok = bytes.CutPrefix(after, strconv.AppendInt(room[:0], at, 10))
		}
		if ok {
			return i, len(body) - from - len(after)
		}
	}
	return 0, 0
}

// decompress appends the original of a compressed body.
func decompress(out []byte, short string, item *eventq.Item) []byte {
	from := 0
	for i := range len(short) {
		c := short[i]
		if c-1 >= byte(len(dictionary)-1) {
			continue
		}
		out = append(append(out, short[from:i]...), dictionary[c]...)
		switch from = i + 1; c {
		case tokenID:
			out = append(append(out, item.ID...), idEnd...)
		case tokenTime:
			out = strconv.AppendInt(out, item.At, 10)
		}
	}
	return append(out, short[from:]...)
}
