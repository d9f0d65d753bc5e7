package sink

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"laststand/internal/eventq"
)

// standardWebhook returns the format StandardWebhooks, with the items as posted.
func standardWebhook(b eventq.Batch) ([]byte, error) {
	game, err := json.Marshal(b.Game)
	items := make([][]byte, len(b.Items))
	for i, item := range b.Items {
		items[i] = item.Body
	}
	return fmt.Appendf(nil, `{"type":"game.behaviour.batch","timestamp":%q,"data":{"game":%s,"items":[%s]}}`,
		formatTime(b.Now), game, bytes.Join(items, []byte{','})), err
}

// cloudEvent is one event of the format CloudEventsBatch.
type cloudEvent struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Time        string          `json:"time"`
	Data        json.RawMessage `json:"data"` // the whole behaviour, as posted
}

func cloudEvents(b eventq.Batch) ([]byte, error) {
	var events []cloudEvent
	for _, item := range b.Items {
		var posted struct{ ID, Type string }
		if err := json.Unmarshal(item.Body, &posted); err != nil || posted.ID == "" || posted.Type == "" {
			return nil, errNoID
		}
		events = append(events, cloudEvent{
			SpecVersion: "1.0", ID: posted.ID, Source: "/v1/games/" + url.PathEscape(b.Game),
			Type: "game.behaviour." + posted.Type, Time: formatTime(item.At), Data: item.Body,
		})
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // so that behaviours stay as posted
	err := encoder.Encode(events)
	return bytes.TrimSuffix(body.Bytes(), []byte{'\n'}), err
}

// errNoID does not quote the behaviour.
var errNoID = errors.New("a behaviour without id or type in the queue")

func formatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
