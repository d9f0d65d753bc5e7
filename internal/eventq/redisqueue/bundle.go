package redisqueue

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"laststand/internal/eventq"
	"laststand/internal/redisx"
)

// unpackBundles reads the oldest items of bundles, at most limit.
func unpackBundles(bundles redisx.Reply, limit int) ([]eventq.Item, error) {
	if len(bundles) == 0 {
		return nil, nil
	}
	items := make([]eventq.Item, 0, min(limit, len(bundles)/2*maxBundle))
	for i := 0; i+1 < len(bundles) && len(items) < limit; i += 2 {
		h, err := readHeader(bundles.Text(i))
		if err == nil {
			items, err = h.unpack(items, bundles.Text(i+1))
		}
		if err != nil {
			return nil, err
		}
	}
	return items[:min(len(items), limit)], nil
}

// bundleHeader is the header of a bundle without its oldest item, see bundles.lua.
type bundleHeader struct {
	count, skipped int
	once           bool
	newest         int64
}

func readHeader(text string) (h bundleHeader, err error) {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return h, fmt.Errorf("the head %.60q of a bundle", text)
	}
	h.once = fields[2] == "p"
	var faults [3]error
	h.count, faults[0] = strconv.Atoi(fields[0])
	h.skipped, faults[1] = strconv.Atoi(fields[1])
	h.newest, faults[2] = strconv.ParseInt(fields[3], 10, 64)
	if faults != [3]error{} {
		err = fmt.Errorf("the head %.60q of a bundle", text)
	}
	return h, err
}

// unpack appends the items of a bundle. Their bodies share one buffer, and their
// ids share the text.
func (h bundleHeader) unpack(items []eventq.Item, text string) ([]eventq.Item, error) {
	all := h.skipped + h.count
	room := make([]byte, 0, 2*len(text)*h.count/max(all, 1)) // enough for typical bodies
	for i := range all {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return nil, fmt.Errorf("a bundle of %d items instead of %d", i, all)
		}
		if text = rest; i < h.skipped {
			continue
		}
		item, short, ok := h.unpackLine(line)
		if !ok {
			return nil, fmt.Errorf("an item that begins %.60q", line)
		}
		from := len(room)
		room = decompress(room, short, &item)
		item.Body = room[from:len(room):len(room)]
		items = append(items, item)
	}
	return items, nil
}

// unpackLine reads an item without its body. It returns the body as it is stored.
func (h bundleHeader) unpackLine(line string) (item eventq.Item, short string, ok bool) {
	waited, rest, _ := strings.Cut(line, " ")
	late, rest, _ := strings.Cut(rest, " ")
	id, short, ok := strings.Cut(rest, " ")
	var faults [3]error
	item.QueuedAt, faults[0] = strconv.ParseInt(waited, 10, 64)
	item.At, faults[1] = strconv.ParseInt(late, 10, 64)
	item.ID, faults[2] = url.PathUnescape(id)
	item.Unique, item.QueuedAt = h.once, h.newest-item.QueuedAt
	item.At = item.QueuedAt - item.At
	return item, short, ok && faults == [3]error{}
}
