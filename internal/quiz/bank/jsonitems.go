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

// jsonItems returns the elements of a list with their first lines. The document
// is either the list, or an object with the list under the key listKey. It passes
// the other fields of the object to onField, whose error makes the document
// unreadable.
func jsonItems(data []byte, list string, field func(key string, raw json.RawMessage) error) ([]jsonItem, error) {
	d := &jsonDocument{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	items, err := d.read(list, field)
	if err != nil {
		return nil, d.locate(err)
	}
	return items, nil
}

type jsonDocument struct {
	data    []byte
	decoder *json.Decoder
	offset  int // line is the number of the line at this offset
	line    int
}

func (d *jsonDocument) read(list string, field func(string, json.RawMessage) error) ([]jsonItem, error) {
	var items []jsonItem
	opening, err := d.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch opening {
	case json.Delim('['):
		items, err = d.elements()
	case json.Delim('{'):
		items, err = d.fields(list, field)
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

func (d *jsonDocument) fields(list string, field func(string, json.RawMessage) error) ([]jsonItem, error) {
	var items []jsonItem
	found := false
	for d.decoder.More() {
		token, err := d.decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		if key != list {
			if err := d.field(key, field); err != nil {
				return nil, err
			}
			continue
		}
		if opening, err := d.decoder.Token(); err != nil || opening != json.Delim('[') {
			return nil, fmt.Errorf("%q is not a list", list)
		}
		if items, err = d.elements(); err != nil {
			return nil, err
		}
		found = true
	}
	if !found {
		return nil, fmt.Errorf("it has no list %q", list)
	}
	_, err := d.decoder.Token()
	return items, err
}

func (d *jsonDocument) field(key string, field func(string, json.RawMessage) error) error {
	var raw json.RawMessage
	if err := d.decoder.Decode(&raw); err != nil {
		return err
	}
	return field(key, raw)
}

// elements reads the rest of a list after its [.
func (d *jsonDocument) elements() ([]jsonItem, error) {
	var items []jsonItem
	for d.decoder.More() {
		var raw json.RawMessage
		if err := d.decoder.Decode(&raw); err != nil {
			return nil, err
		}
		if len(items) == MaxQuestions {
			return nil, fmt.Errorf("%w: over %d questions, split it", ErrTooLarge, MaxQuestions)
		}
		start := int(d.decoder.InputOffset()) - len(raw)
		items = append(items, jsonItem{d.lineAt(start), raw})
	}
	_, err := d.decoder.Token()
	return items, err
}

// lineNumber returns the number of the line at offset, which must not decrease from
// call to call.
func (d *jsonDocument) lineAt(offset int) int {
	d.line += bytes.Count(d.data[d.offset:offset], []byte("\n"))
	d.offset = offset
	return d.line
}

// locate adds the line to the error of an unreadable document.
func (d *jsonDocument) locate(err error) error {
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrFormat) {
		return err
	}
	offset := int(d.decoder.InputOffset())
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = int(syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, err = len(d.data), errors.New("the end is missing")
	}
	return fmt.Errorf("%w: JSON, line %d: %w", ErrFormat, lineAt(d.data, min(offset, len(d.data))), err)
}

// jsonFault converts an error of decoding a question to one for the author of the
// bank, without Go terms.
func jsonFault(err error) error {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return fmt.Errorf("it is not a question: %w", err)
	}
	if mismatch.Field == "" {
		return fmt.Errorf("it is not a question but a JSON %s", mismatch.Value)
	}
	return fmt.Errorf("field %q cannot be a JSON %s", mismatch.Field, mismatch.Value)
}
