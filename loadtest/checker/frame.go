package checker

import (
	"encoding/json"
	"errors"
	"time"
)

// Frame is a reply (Re is set) or a push of the server, and the time when it came.
type Frame struct {
	Re    *int64          `json:"re"`
	Type  string          `json:"type"`
	Match string          `json:"match"`
	Seq   int64           `json:"seq"`
	Data  json.RawMessage `json:"data"`

	ReceivedAt time.Time `json:"-"`
	Raw        []byte    `json:"-"`
}

// ErrContract is wrapped by errors that mean that a server broke the contract.
var ErrContract = errors.New("against the contract")
