package webhooksink

import (
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"laststand/internal/eventq"
)

// iso8601 is in UTC.
const iso8601 = "2006-01-02T15:04:05.000Z"

// envelope is {"type","timestamp","data":{"game","items":[as posted]}}.
func envelope(b eventq.Batch) ([]byte, error) {
	game, err := json.Marshal(b.Game)
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, sizeOf(b.Items, 1)+len(game)+128)
	body = append(body, `{"type":"game.behaviour.batch","timestamp":"`...)
	body = appendInstant(body, b.Now)
	body = append(body, `","data":{"game":`...)
	body = append(body, game...)
	body = append(body, `,"items":[`...)
	for i, item := range b.Items {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item.Body...)
	}
	return append(body, "]}}"...), nil
}

// cloudEvents puts each whole behaviour, as posted, into the data of one event.
func cloudEvents(b eventq.Batch) ([]byte, error) {
	source := `","source":"/v1/games/` + url.PathEscape(b.Game) + `","type":"game.behaviour.`
	body := make([]byte, 0, sizeOf(b.Items, len(source)+192))
	body = append(body, '[')
	for i, item := range b.Items {
		id, kind, err := idAndType(item.Body)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"specversion":"1.0","id":"`...)
		body = append(body, id...)
		body = append(body, source...)
		body = append(body, kind...)
		body = append(body, `","time":"`...)
		body = appendInstant(body, item.At)
		body = append(body, `","data":`...)
		body = append(body, item.Body...)
		body = append(body, '}')
	}
	return append(body, ']'), nil
}

// idAndType returns the id and the type of a behaviour as they are between their
// quotes, already escaped as JSON.
func idAndType(body []byte) (id, kind []byte, err error) {
	var b struct {
		ID   json.RawMessage `json:"id"`
		Type json.RawMessage `json:"type"`
	}
	if err := json.Unmarshal(body, &b); err != nil || !isText(b.ID) || !isText(b.Type) {
		return nil, nil, errNoID
	}
	return b.ID[1 : len(b.ID)-1], b.Type[1 : len(b.Type)-1], nil
}

// errNoID does not quote the behaviour.
var errNoID = errors.New("a behaviour without id or type in the queue")

// isText reports whether a value is a JSON string that is not empty.
func isText(value json.RawMessage) bool { return len(value) > 2 && value[0] == '"' }

func appendInstant(to []byte, ms int64) []byte {
	return time.UnixMilli(ms).UTC().AppendFormat(to, iso8601)
}

// sizeOf returns the size of all items, with the given overhead in bytes for each.
func sizeOf(items []eventq.Item, overhead int) int {
	n := 0
	for _, item := range items {
		n += len(item.Body) + overhead
	}
	return n
}
