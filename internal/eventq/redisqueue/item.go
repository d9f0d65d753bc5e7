package redisqueue

import (
	"net/url"
	"slices"
	"strconv"

	"laststand/internal/eventq"
)

// maxBundle is the largest number of items in a bundle. It is large, so that few
// commands move a batch. It is small, so that little is moved twice when a batch
// ends inside a bundle.
const maxBundle = 32

// appendBundles appends items to the arguments of a script, in bundles: a header
// and a text, see bundles.lua. The flag is p for unique items and s for others.
//
// The text has a line 'WAITED LATE ID BODY' for each item. WAITED says how many ms
// it was queued before the newest item. LATE says how many ms after the behaviour
// it was queued. ID is escaped, so that it has neither blank nor line feed. BODY
// is compressed.
func appendBundles(args []any, items []eventq.Item) []any {
	for len(items) > 0 {
		n := countSameKind(items)
		newest := items[0].QueuedAt
		for i := range n {
			newest = max(newest, items[i].QueuedAt)
		}
		args = append(args, header(items[:n], newest), textOf(items[:n], newest))
		items = items[n:]
	}
	return args
}

// countSameKind returns how many items at the beginning make one bundle.
func countSameKind(items []eventq.Item) int {
	limit := min(len(items), maxBundle)
	other := slices.IndexFunc(items[:limit], func(item eventq.Item) bool { return item.Unique != items[0].Unique })
	if other < 0 {
		return limit
	}
	return other
}

// header returns the header of a complete bundle.
func header(items []eventq.Item, newest int64) string {
	var room [64]byte
	flag := " 0 s "
	if items[0].Unique {
		flag = " 0 p "
	}
	head := append(strconv.AppendInt(room[:0], int64(len(items)), 10), flag...)
	head = append(strconv.AppendInt(head, newest, 10), ' ')
	return string(strconv.AppendInt(head, items[0].QueuedAt, 10))
}

func textOf(items []eventq.Item, newest int64) []byte {
	size := 0
	for i := range items {
		size += len(items[i].ID) + len(items[i].Body) + 16
	}
	text := make([]byte, 0, size)
	for i := range items {
		text = strconv.AppendInt(text, newest-items[i].QueuedAt, 10)
		text = append(text, ' ')
		text = strconv.AppendInt(text, items[i].QueuedAt-items[i].At, 10)
		text = append(text, ' ')
		text = append(text, escapeID(items[i].ID)...)
		text = append(text, ' ')
		text = compress(text, &items[i])
		text = append(text, '\n')
	}
	return text
}

// unescaped are the bytes that an escaped id contains unchanged.
var unescaped = func() (unescaped [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~" {
		unescaped[c] = true
	}
	return unescaped
}()

func escapeID(id string) string {
	for i := range len(id) {
		if !unescaped[id[i]] {
			return url.PathEscape(id)
		}
	}
	return id
}
