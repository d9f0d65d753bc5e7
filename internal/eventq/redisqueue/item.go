package redisqueue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"laststand/internal/eventq"
)

// maxBundle is the largest number of items in a bundle. It is large, so that few
// commands move a batch. It is small, so that little is moved twice when a batch
// ends inside a bundle.
const maxBundle = 64

// bundlesOf returns items in bundles as pop.lua describes them.
func bundlesOf(items []eventq.Item) (bundles []any) {
	for bundle := range slices.Chunk(items, maxBundle) {
		bundles = append(bundles, bundleOf(bundle, eventq.Tried{}))
	}
	return bundles
}

func bundleOf(items []eventq.Item, tried eventq.Tried) []byte {
	size := 64
	for i := range items {
		size += len(items[i].ID) + len(items[i].Body) + 32
	}
	text := strconv.AppendInt(make([]byte, 0, size), int64(len(items)), 10)
	if tried.ID != "" {
		text = fmt.Appendf(text, " %s %d", tried.ID, tried.Attempts)
	}
	text = append(text, '\n')
	for i := range items {
		text = appendLine(text, &items[i])
	}
	return text
}

// triedOf returns what a bundle says about the message that it is.
func triedOf(bundle string) (tried eventq.Tried) {
	header, _, _ := strings.Cut(bundle, "\n")
	_, _ = fmt.Sscanf(header, "%d %s %d", new(int), &tried.ID, &tried.Attempts) // other bundles have one number
	return tried
}

func appendLine(text []byte, item *eventq.Item) []byte {
	text = append(strconv.AppendInt(text, item.QueuedAt, 10), ' ')
	text = strconv.AppendInt(text, item.At, 10)
	if item.Unique {
		text = append(text, " u "...)
	} else {
		text = append(text, " o "...)
	}
	text = append(append(text, item.ID...), ' ')
	return append(append(text, item.Body...), '\n')
}

// appendBundle appends the items of a bundle. Their ids and bodies share its text.
func appendBundle(items []eventq.Item, bundle string) ([]eventq.Item, error) {
	header, lines, _ := strings.Cut(bundle, "\n")
	number, _, _ := strings.Cut(header, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("a bundle that begins %.60q", bundle)
	}
	items = slices.Grow(items, n)
	for range n {
		line, rest, _ := strings.Cut(lines, "\n")
		item, ok := readLine(line)
		if !ok {
			return nil, fmt.Errorf("an item that begins %.60q", line)
		}
		items, lines = append(items, item), rest
	}
	return items, nil
}

func readLine(line string) (item eventq.Item, ok bool) {
	queuedAt, rest, _ := strings.Cut(line, " ")
	at, rest, _ := strings.Cut(rest, " ")
	flag, rest, _ := strings.Cut(rest, " ")
	id, body, ok := strings.Cut(rest, " ")
	var faults [2]error
	item.QueuedAt, faults[0] = strconv.ParseInt(queuedAt, 10, 64)
	item.At, faults[1] = strconv.ParseInt(at, 10, 64)
	item.ID, item.Unique, item.Body = id, flag == "u", []byte(body)
	return item, ok && faults == [2]error{}
}
