package sink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/protocol"
)

// standardWebhook returns the format StandardWebhooks, with the items as posted.
func standardWebhook(b eventq.Batch) ([]byte, error) {
	items := make([][]byte, len(b.Items))
	for i, item := range b.Items {
		items[i] = item.Body
	}
	return fmt.Appendf(nil, `{"type":"game.behaviour.batch","timestamp":%q,"data":{"game":%s,"items":[%s]}}`,
		formatTime(b.Now), quote(b.Game), bytes.Join(items, []byte{','})), nil
}

// cloudEvents returns the format CloudEventsBatch. The data of an event is the whole
// behaviour, as posted.
func cloudEvents(b eventq.Batch) ([]byte, error) {
	source := quote("/v1/games/" + url.PathEscape(b.Game))
	events := make([][]byte, len(b.Items))
	for i, item := range b.Items {
		var posted struct{ ID, Type string }
		if err := json.Unmarshal(item.Body, &posted); err != nil || posted.ID == "" || posted.Type == "" {
			return nil, errNoID
		}
		events[i] = fmt.Appendf(nil, `{"specversion":"1.0","id":%s,"source":%s,"type":%s,"time":%q,"data":%s}`,
			quote(posted.ID), source, quote("game.behaviour."+posted.Type), formatTime(item.At), item.Body)
	}
	return fmt.Appendf(nil, "[%s]", bytes.Join(events, []byte{','})), nil
}

// quote returns a text as JSON.
func quote(text string) []byte { return protocol.AppendJSONText(nil, text) }

// errNoID does not quote the behaviour.
var errNoID = errors.New("a behaviour without id or type in the queue")

func formatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
