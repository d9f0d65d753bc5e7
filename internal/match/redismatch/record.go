package redismatch

import (
	"encoding/json"
	"strconv"
	"strings"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// Records are stored as JSON, which retract_answer.lua reads too. This file
// encodes and decodes them without reflection, because every answer writes a
// record and most are read once.

// encodeRecord encodes a record.
func recordText(r match.Record) []byte {
	b := make([]byte, 0, 256+len(r.Normal)+len(r.Given))
	b = protocol.AppendText(append(b, `{"player":`...), r.Player)
	b = strconv.AppendInt(append(b, `,"question":`...), int64(r.Question), 10)
	b = protocol.AppendText(append(b, `,"normal":`...), r.Normal)
	b = strconv.AppendBool(append(b, `,"correct":`...), r.Correct)
	b = strconv.AppendInt(append(b, `,"at":`...), r.At, 10)
	b = strconv.AppendInt(append(b, `,"elapsed_ms":`...), r.ElapsedMS, 10)
	b = strconv.AppendInt(append(b, `,"points":`...), r.Points, 10)
	b = strconv.AppendInt(append(b, `,"saved_ms":`...), r.SavedMS, 10)
	b = protocol.AppendText(append(b, `,"node":`...), r.Node)
	b = strconv.AppendBool(append(b, `,"first":`...), r.First)
	b = append(append(b, `,"given":`...), r.Given...)
	if len(r.Given) == 0 {
		b = append(b, "null"...)
	}
	return append(b, '}')
}

// recordOf decodes a record. It also accepts records of earlier versions.
func recordOf(raw string) (r match.Record, err error) {
	in := recordReader{rest: raw}
	r.Player = in.text(`{"player":`)
	r.Question = int(in.number(`,"question":`))
	r.Normal = in.text(`,"normal":`)
	r.Correct = in.flag(`,"correct":`)
	r.At = in.number(`,"at":`)
	r.ElapsedMS = in.number(`,"elapsed_ms":`)
	r.Points = in.number(`,"points":`)
	r.SavedMS = in.number(`,"saved_ms":`)
	r.Node = in.text(`,"node":`)
	r.First = in.flag(`,"first":`)
	r.Given = json.RawMessage(strings.TrimSuffix(in.after(`,"given":`), "}"))
	if in.malformed {
		r = match.Record{}
		err = json.Unmarshal([]byte(raw), &r)
	}
	return r, err
}

// recordReader reads the members of a record one after the other, in the order
// of encodeRecord.
type recordReader struct {
	rest      string
	malformed bool // true: the text has another form; decode it as general JSON
}

// after returns the text after a member's name.
func (m *recordReader) after(name string) string {
	rest, found := strings.CutPrefix(m.rest, name)
	m.malformed = m.malformed || !found
	return rest
}

func (m *recordReader) text(name string) (s string) {
	quoted, found := strings.CutPrefix(m.after(name), `"`)
	s, m.rest, _ = strings.Cut(quoted, `"`)
	m.malformed = m.malformed || !found || strings.IndexByte(s, '\\') >= 0
	return s
}

func (m *recordReader) number(name string) int64 {
	rest := m.after(name)
	end := strings.IndexByte(rest, ',')
	n, err := strconv.ParseInt(rest[:max(end, 0)], 10, 64)
	m.rest = rest[max(end, 0):]
	m.malformed = m.malformed || err != nil
	return n
}

func (m *recordReader) flag(name string) (set bool) {
	rest := m.after(name)
	m.rest, set = strings.CutPrefix(rest, "true")
	if !set {
		m.rest = strings.TrimPrefix(rest, "false")
	}
	return set
}
