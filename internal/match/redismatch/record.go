package redismatch

import (
	"encoding/json"

	"laststand/internal/match"
)

// encodeRecord encodes a record as JSON, which remove_place.lua reads too.
func encodeRecord(record match.Record) []byte {
	raw, _ := json.Marshal(record) // texts, numbers and a given answer that was encoded before
	return raw
}

func decodeRecord(raw string) (record match.Record, err error) {
	err = json.Unmarshal([]byte(raw), &record)
	return record, err
}
