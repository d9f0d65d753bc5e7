package redisqueue

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"laststand/internal/behaviour"
)

// bundleMost is the most items of a bundle: large enough that few commands move
// a batch, small enough that it costs little to cut one where a batch ends.
const bundleMost = 32

// appendBundles appends items as they are kept to the arguments of a script, in
// bundles of a head 'COUNT FLAG QUEUED_AT' and a text. The flag is p for posted
// items, s for the server's own; the instant is of the first item. The text has a
// line 'QUEUED_AT AT ID BODY' for each; the id is escaped, so that it has neither
// blank nor line feed.
func appendBundles(args []any, items []behaviour.Item) []any {
	for len(items) > 0 {
		n := alike(items)
		args = append(args, packHead(items[:n]), packLines(items[:n]))
		items = items[n:]
	}
	return args
}

// alike is how many items at the beginning make one bundle.
func alike(items []behaviour.Item) int {
	most := min(len(items), bundleMost)
	other := slices.IndexFunc(items[:most], func(item behaviour.Item) bool { return item.Once != items[0].Once })
	if other < 0 {
		return most
	}
	return other
}

func packHead(items []behaviour.Item) string {
	flag := " s "
	if items[0].Once {
		flag = " p "
	}
	return strconv.Itoa(len(items)) + flag + strconv.FormatInt(items[0].QueuedAt, 10)
}

func packLines(items []behaviour.Item) []byte {
	size := 0
	for i := range items {
		size += len(items[i].ID) + len(items[i].Body) + 32 // two instants, three blanks, a line feed
	}
	text := make([]byte, 0, size)
	for i := range items {
		text = strconv.AppendInt(text, items[i].QueuedAt, 10)
		text = append(text, ' ')
		text = strconv.AppendInt(text, items[i].At, 10)
		text = append(text, ' ')
		text = append(text, packID(items[i].ID)...)
		text = append(text, ' ')
		text = append(text, items[i].Body...)
		text = append(text, '\n')
	}
	return text
}

// plain are the bytes that an escaped id has as they are.
var plain = func() (plain [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~" {
		plain[c] = true
	}
	return plain
}()

func packID(id string) string {
	for i := range len(id) {
		if !plain[id[i]] {
			return url.PathEscape(id)
		}
	}
	return id
}

// unpack reads the oldest items of bundles, at most so many. Those of a bundle
// share one text with their bodies.
func unpack(bundles []any, most int) ([]behaviour.Item, error) {
	items := make([]behaviour.Item, 0, most)
	for i := 0; i+1 < len(bundles) && len(items) < most; i += 2 {
		var err error
		once := strings.Contains(text(bundles, i), "p")
		if items, err = unpackLines(items, text(bundles, i+1), once); err != nil {
			return nil, err
		}
	}
	return items[:min(len(items), most)], nil
}

func unpackLines(items []behaviour.Item, lines string, once bool) ([]behaviour.Item, error) {
	bodies := []byte(lines)
	for from := 0; from < len(lines); {
		end := from + max(0, strings.IndexByte(lines[from:], '\n'))
		item, head, ok := unpackLine(lines[from:end])
		if !ok {
			return nil, fmt.Errorf("an item that begins %.60q", lines[from:])
		}
		item.Once, item.Body = once, bodies[from+head:end:end]
		items = append(items, item)
		from = end + 1
	}
	return items, nil
}

// unpackLine reads what comes before the body, which begins at head.
func unpackLine(line string) (item behaviour.Item, head int, ok bool) {
	queuedAt, rest, _ := strings.Cut(line, " ")
	at, rest, _ := strings.Cut(rest, " ")
	id, body, ok := strings.Cut(rest, " ")
	if !ok {
		return item, 0, false
	}
	var faults [3]error
	item.QueuedAt, faults[0] = strconv.ParseInt(queuedAt, 10, 64)
	item.At, faults[1] = strconv.ParseInt(at, 10, 64)
	item.ID, faults[2] = url.PathUnescape(id)
	return item, len(line) - len(body), faults == [3]error{}
}
