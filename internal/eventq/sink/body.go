package sink

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"laststand/internal/eventq"
)

// message is the format StandardWebhooks.
type message struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      struct {
		Game  string            `json:"game"`
		Items []json.RawMessage `json:"items"` // as posted
	} `json:"data"`
}

func standardWebhook(b eventq.Batch) ([]byte, error) {
	m := message{Type: "game.behaviour.batch", Timestamp: formatTime(b.Now)}
	m.Data.Game = b.Game
	for _, item := range b.Items {
		m.Data.Items = append(m.Data.Items, item.Body)
	}
	return encode(m)
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
	return encode(events)
}

// errNoID does not quote the behaviour.
var errNoID = errors.New("a behaviour without id or type in the queue")

// encode does not escape HTML, so that behaviours stay as posted.
func encode(body any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), err
}

func formatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
