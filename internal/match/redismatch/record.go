package redismatch

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// encodeRecord encodes the record of an attempt without its points, which the store appends,
// see appendPoints. The id of the attempt is first: scripts compare it.
func encodeRecord(id string, record match.Record) []byte {
	b := make([]byte, 0, 300+len(record.Normalized)+len(record.Given))
	b = protocol.AppendJSONText(append(b, attemptIDName...), id)
	b = protocol.AppendJSONText(append(b, `,"player":`...), record.Player)
	b = strconv.AppendInt(append(b, `,"question":`...), int64(record.Question), 10)
	b = protocol.AppendJSONText(append(b, `,"normal":`...), record.Normalized)
	b = strconv.AppendBool(append(b, `,"correct":`...), record.Correct)
	b = strconv.AppendInt(append(b, `,"at":`...), record.ArrivedAt, 10)
	b = strconv.AppendInt(append(b, `,"elapsed_ms":`...), record.ElapsedMS, 10)
	b = strconv.AppendInt(append(b, `,"saved_ms":`...), record.SavedMS, 10)
	b = protocol.AppendJSONText(append(b, `,"node":`...), record.Node)
	b = strconv.AppendBool(append(b, `,"first":`...), record.First)
	b = append(append(b, `,"given":`...), record.Given...)
	if len(record.Given) == 0 {
		b = append(b, "null"...)
	}
	return append(b, `,"points":`...)
}

// appendPoints completes a record.
func appendPoints(record []byte, points int64) []byte {
	return append(strconv.AppendInt(record, points, 10), '}')
}

// refusal returns what takes the place of a record when an answer to an open question is too
// late. Then the store accepts no answer of the player until closes_at changes. Without it, an
// answer could count after the refusal: another node may have received it in time, and stalled.
func refusal(closesAt int64) string { return fmt.Sprintf(`{"closed":%d}`, closesAt) }

// isRefusal reports whether a text is a refusal in the place of a record.
func isRefusal(text string) bool { return strings.HasPrefix(text, `{"closed":`) }

// attemptIDName is before the id of the attempt in a record.
const attemptIDName = `{"id":`

// attemptID returns the id of the attempt of a stored record, "" without a record.
func attemptID(record string) string {
	reader := recordReader{rest: record}
	return reader.readText(attemptIDName)
}

// decodeRecord decodes a record. It also accepts records of earlier versions.
func decodeRecord(raw string) (record match.Record, err error) {
	reader := recordReader{rest: raw}
	_ = reader.readText(attemptIDName)
	record.Player = reader.readText(`,"player":`)
	record.Question = int(reader.readNumber(`,"question":`))
	record.Normalized = reader.readText(`,"normal":`)
	record.Correct = reader.readBool(`,"correct":`)
	record.ArrivedAt = reader.readNumber(`,"at":`)
	record.ElapsedMS = reader.readNumber(`,"elapsed_ms":`)
	record.SavedMS = reader.readNumber(`,"saved_ms":`)
	record.Node = reader.readText(`,"node":`)
	record.First = reader.readBool(`,"first":`)
	given, points := reader.splitPoints(`,"given":`)
	record.Given, record.Points = json.RawMessage(given), points
	if reader.malformed {
		record = match.Record{}
		err = json.Unmarshal([]byte(raw), &record)
	}
	return record, err
}

// recordReader reads the members of a record one after the other, in the order
// of encodeRecord.
type recordReader struct {
	rest      string
	malformed bool // true: the text has another form; decode it as general JSON
}

// skipName returns the text after a member's name.
func (r *recordReader) skipName(name string) string {
	rest, found := strings.CutPrefix(r.rest, name)
	r.malformed = r.malformed || !found
	return rest
}

func (r *recordReader) readText(name string) (s string) {
	quoted, found := strings.CutPrefix(r.skipName(name), `"`)
	s, r.rest, _ = strings.Cut(quoted, `"`)
	r.malformed = r.malformed || !found || strings.IndexByte(s, '\\') >= 0
	return s
}

func (r *recordReader) readNumber(name string) int64 {
	rest := r.skipName(name)
	end := strings.IndexByte(rest, ',')
	n, err := strconv.ParseInt(rest[:max(end, 0)], 10, 64)
	r.rest = rest[max(end, 0):]
	r.malformed = r.malformed || err != nil
	return n
}

// splitPoints returns a JSON value, and the points that follow it at the end of the record.
func (r *recordReader) splitPoints(name string) (value string, points int64) {
	const last = `,"points":`
	rest := r.skipName(name)
	at := max(strings.LastIndex(rest, last), 0)
	points, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(rest[at:], last), "}"), 10, 64)
	r.malformed = r.malformed || err != nil
	return rest[:at], points
}

func (r *recordReader) readBool(name string) (set bool) {
	rest := r.skipName(name)
	r.rest, set = strings.CutPrefix(rest, "true")
	if !set {
		r.rest = strings.TrimPrefix(rest, "false")
	}
	return set
}
