package quiz

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// ExportBank writes a bank in the native format, ordered by id. ReadBank reads the same questions
// back. The bank stays unchanged.
func ExportBank(w io.Writer, bank *Bank) error {
	doc := struct {
		Bank      string     `json:"bank"`
		Questions []Question `json:"questions"`
	}{bank.Name, append([]Question{}, bank.Questions...)} // not nil, which would be null
	sortByID(doc.Questions)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		return fmt.Errorf("bank: export %s: %w", bank.Name, err)
	}
	return nil
}

// readJSON reads the native format:
//
//	{"bank":"name","lang":"en","category":"History","source":"…","licence":"…","questions":[
//	  {"id":"q_1","kind":"single","difficulty":"easy","text":"…","choices":["…","…"],"right":[0],"explanation":"…"},
//	  {"kind":"number","difficulty":"hard","text":"…","target":{"value":1969,"tolerance":0}}]}
//
// A question's own fields override the document's, which override the options. A
// list of questions without the object around it is accepted too. A question with
// an unknown field is skipped. An unknown field of the document makes the whole
// input unreadable.
func (imp *importer) readJSON(data []byte) error {
	var own ImportOptions
	fields := map[string]any{
		"bank": &imp.BankName, "lang": &own.Lang, "category": &own.Category, "difficulty": &own.Difficulty,
		"source": &own.Source, "licence": &own.Licence,
	}
	items, err := readJSONItems(data, "questions", func(key string, raw json.RawMessage) error {
		field, known := fields[key]
		if !known {
			return fmt.Errorf("a bank has no field %q", key)
		}
		if json.Unmarshal(raw, field) != nil {
			return fmt.Errorf("%q is not a text", key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	imp.options = own.or(imp.options)
	for _, item := range items {
		var question Question
		decoder := json.NewDecoder(bytes.NewReader(item.raw))
		decoder.DisallowUnknownFields()
		err := explainJSONError(decoder.Decode(&question))
		imp.addItem(item.line, string(item.raw), question, err)
	}
	return nil
}

type jsonItem struct {
	line int // number of its first line, from 1
	raw  json.RawMessage
}

// readJSONItems returns the elements of a list with their first lines. The input is either
// the list, or an object with the list under the key listKey. It passes the other fields
// of the object to onField, whose error makes the input unreadable.
func readJSONItems(data []byte, listKey string, onField func(key string, raw json.RawMessage) error) ([]jsonItem, error) {
	list := json.RawMessage(data)
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, newJSONError(data, err)
		}
		list = fields[listKey]
		delete(fields, listKey)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if err := onField(key, fields[key]); err != nil {
				return nil, newJSONError(data, err)
			}
		}
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(list, &elements); list != nil && errors.As(err, new(*json.SyntaxError)) {
		return nil, newJSONError(data, err)
	}
	if elements == nil {
		return nil, newJSONError(data, fmt.Errorf("it has no list %q", listKey))
	}
	return addLines(data, list, elements), nil
}

// addLines finds the first line of each element of a list, which is a part of data.
func addLines(data, list []byte, elements []json.RawMessage) (items []jsonItem) {
	start := bytes.Index(data, list)
	line := lineNumber(data, start)
	for _, raw := range elements {
		offset := bytes.Index(list, raw)
		line += bytes.Count(list[:offset], []byte("\n"))
		items = append(items, jsonItem{line, raw})
		line += bytes.Count(raw, []byte("\n"))
		list = list[offset+len(raw):]
	}
	return items
}

// newJSONError returns the error of an unreadable input, with the line if it is known.
func newJSONError(data []byte, err error) error {
	if syntaxErr, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w: JSON, line %d: %w", ErrFormat, lineNumber(data, min(int(syntaxErr.Offset), len(data))), err)
	}
	return fmt.Errorf("%w: JSON: %w", ErrFormat, err)
}

// explainJSONError converts an error of decoding a question to one for the author of the
// bank, without Go terms. It returns nil for nil.
func explainJSONError(err error) error {
	if err == nil {
		return nil
	}
	typeErr, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return fmt.Errorf("it is not a question: %w", err)
	case typeErr.Field == "":
		return fmt.Errorf("it is not a question but a JSON %s", typeErr.Value)
	}
	return fmt.Errorf("field %q cannot be a JSON %s", typeErr.Field, typeErr.Value)
}
