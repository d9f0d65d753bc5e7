package bank

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// jsonItem is one element of the list in a JSON input.
type jsonItem struct {
	line int // number of its first line, from 1
	raw  json.RawMessage
}

// readJSONItems returns the elements of a list with their first lines. The document
// is either the list, or an object with the list under the key listKey. It passes
// the other fields of the object to onField, whose error makes the document
// unreadable.
func readJSONItems(data []byte, listKey string, onField func(key string, raw json.RawMessage) error) ([]jsonItem, error) {
	doc := &jsonDocument{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	items, err := doc.readDocument(listKey, onField)
	if err != nil {
		return nil, doc.withLine(err)
	}
	return items, nil
}

type jsonDocument struct {
	data    []byte
	decoder *json.Decoder
	offset  int // line is the number of the line at this offset
	line    int
}

func (d *jsonDocument) readDocument(listKey string, onField func(string, json.RawMessage) error) ([]jsonItem, error) {
	var items []jsonItem
	opening, err := d.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch opening {
	case json.Delim('['):
		items, err = d.readElements()
	case json.Delim('{'):
		items, err = d.readFields(listKey, onField)
	default:
		return nil, errors.New("it begins with neither { nor [")
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after its end")
	}
	return items, nil
}

func (d *jsonDocument) readFields(listKey string, onField func(string, json.RawMessage) error) ([]jsonItem, error) {
	var items []jsonItem
	found := false
	for d.decoder.More() {
		token, err := d.decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		if key != listKey {
			if err := d.onField(key, onField); err != nil {
				return nil, err
			}
			continue
		}
		if opening, err := d.decoder.Token(); err != nil || opening != json.Delim('[') {
			return nil, fmt.Errorf("%q is not a list", listKey)
		}
		if items, err = d.readElements(); err != nil {
			return nil, err
		}
		found = true
	}
	if !found {
		return nil, fmt.Errorf("it has no list %q", listKey)
	}
	_, err := d.decoder.Token()
	return items, err
}

func (d *jsonDocument) onField(key string, onField func(string, json.RawMessage) error) error {
	var raw json.RawMessage
	if err := d.decoder.Decode(&raw); err != nil {
		return err
	}
	return onField(key, raw)
}

// readElements reads the rest of a list after its [.
func (d *jsonDocument) readElements() ([]jsonItem, error) {
	var items []jsonItem
	for d.decoder.More() {
		var raw json.RawMessage
		if err := d.decoder.Decode(&raw); err != nil {
			return nil, err
		}
		if len(items) == MaxImportItems {
			return nil, fmt.Errorf("%w: over %d questions, split it", ErrTooLarge, MaxImportItems)
		}
		start := int(d.decoder.InputOffset()) - len(raw)
		items = append(items, jsonItem{d.lineNumber(start), raw})
	}
	_, err := d.decoder.Token()
	return items, err
}

// lineNumber returns the number of the line at offset, which must not decrease from
// call to call.
func (d *jsonDocument) lineNumber(offset int) int {
	d.line += bytes.Count(d.data[d.offset:offset], []byte("\n"))
	d.offset = offset
	return d.line
}

// withLine adds the line to the error of an unreadable document.
func (d *jsonDocument) withLine(err error) error {
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrFormat) {
		return err
	}
	offset := int(d.decoder.InputOffset())
	var syntaxErr *json.SyntaxError
	if errors.As(err, &syntaxErr) {
		offset = int(syntaxErr.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, err = len(d.data), errors.New("the end is missing")
	}
	return fmt.Errorf("%w: JSON, line %d: %w", ErrFormat, lineNumber(d.data, min(offset, len(d.data))), err)
}

// explainJSONError converts an error of decoding a question to one for the author of the
// bank, without Go terms.
func explainJSONError(err error) error {
	var typeErr *json.UnmarshalTypeError
	if !errors.As(err, &typeErr) {
		return fmt.Errorf("it is not a question: %w", err)
	}
	if typeErr.Field == "" {
		return fmt.Errorf("it is not a question but a JSON %s", typeErr.Value)
	}
	return fmt.Errorf("field %q cannot be a JSON %s", typeErr.Field, typeErr.Value)
}
