package bank

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"laststand/internal/quiz"
)

// bankDocument is a bank in the native format: one JSON object. Lang to Licence are
// defaults for its questions.
type document struct {
	Bank       string          `json:"bank"`
	Lang       string          `json:"lang,omitempty"`
	Category   string          `json:"category,omitempty"`
	Difficulty quiz.Difficulty `json:"difficulty,omitempty"`
	Source     string          `json:"source,omitempty"`
	Licence    string          `json:"licence,omitempty"`
	Questions  []quiz.Question `json:"questions"`
}

// Export writes a bank in the native format, ordered by id. ReadJSON reads the
// same questions back. The bank stays unchanged.
func Export(w io.Writer, b *Bank) error {
	d := document{Bank: b.Name, Questions: slices.Clone(b.Questions)}
	if d.Questions == nil {
		d.Questions = []quiz.Question{}
	}
	sortByID(d.Questions)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return fmt.Errorf("bank: export %s: %w", b.Name, err)
	}
	return nil
}

// ReadJSON reads the native format:
//
//	{"bank":"name","lang":"en","category":"History","source":"…","licence":"…","questions":[
//	  {"id":"q_1","kind":"single","difficulty":"easy","text":"…","choices":["…","…"],"right":[0],"explanation":"…"},
//	  {"kind":"number","difficulty":"hard","text":"…","target":{"value":1969,"tolerance":0}}]}
//
// A question's own fields override the document's, which override the options. A
// list of questions without the object around it is accepted too. A question with
// an unknown field is skipped. An unknown field of the document makes the whole
// input unreadable.
func ReadJSON(r io.Reader, o Options) (Import, error) {
	data, err := readAll(r)
	if err != nil {
		return Import{}, err
	}
	var d document
	items, err := jsonItems(data, "questions", d.setField)
	if err != nil {
		return Import{}, err
	}
	in := newImporter(d.mergeOptions(o))
	in.Bank = d.Bank
	for _, item := range items {
		if err := in.addJSON(item); err != nil {
			return Import{}, err
		}
	}
	return in.Import, nil
}

func (in *importer) addJSON(item jsonItem) error {
	var q quiz.Question
	if err := decodeStrict(item.raw, &q); err != nil {
		return in.skip(item.line, string(item.raw), jsonFault(err).Error())
	}
	return in.add(item.line, q)
}

// setField sets one field of the document other than questions.
func (d *document) setField(key string, raw json.RawMessage) error {
	targets := map[string]any{
		"bank": &d.Bank, "lang": &d.Lang, "category": &d.Category, "difficulty": &d.Difficulty,
		"source": &d.Source, "licence": &d.Licence,
	}
	target, known := targets[key]
	if !known {
		return fmt.Errorf("a bank has no field %q", key)
	}
	if err := json.Unmarshal(raw, target); err != nil {
		return fmt.Errorf("%q is not a text", key)
	}
	return nil
}

// mergeOptions returns the document's defaults, completed by the options.
func (d *document) mergeOptions(o Options) Options {
	merged := Options{d.Lang, d.Category, d.Difficulty, d.Source, d.Licence}
	setDefault(&merged.Lang, o.Lang)
	setDefault(&merged.Category, o.Category)
	setDefault(&merged.Difficulty, o.Difficulty)
	setDefault(&merged.Source, o.Source)
	setDefault(&merged.Licence, o.Licence)
	return merged
}

func decodeStrict(raw json.RawMessage, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode(target)
}
