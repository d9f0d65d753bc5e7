package bank

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"laststand/internal/quiz"
)

// bankDocument is a bank in the native format: one JSON object. The options are defaults
// for its questions.
type bankDocument struct {
	Bank string `json:"bank"`
	Options
	Questions []quiz.Question `json:"questions"`
}

// Export writes a bank in the native format, ordered by id. ReadJSON reads the
// same questions back. The bank stays unchanged.
func Export(w io.Writer, bank *Bank) error {
	doc := bankDocument{Bank: bank.Name, Questions: slices.Clone(bank.Questions)}
	if doc.Questions == nil {
		doc.Questions = []quiz.Question{}
	}
	sortByID(doc.Questions)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		return fmt.Errorf("bank: export %s: %w", bank.Name, err)
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
func ReadJSON(r io.Reader, options Options) (Import, error) {
	data, err := readAll(r)
	if err != nil {
		return Import{}, err
	}
	var doc bankDocument
	items, err := readJSONItems(data, "questions", doc.setField)
	if err != nil {
		return Import{}, err
	}
	setDefault(&doc.Lang, options.Lang)
	setDefault(&doc.Category, options.Category)
	setDefault(&doc.Difficulty, options.Difficulty)
	setDefault(&doc.Source, options.Source)
	setDefault(&doc.Licence, options.Licence)
	imp := newImporter(doc.Options)
	imp.BankName = doc.Bank
	for _, item := range items {
		if err := imp.addJSONItem(item); err != nil {
			return Import{}, err
		}
	}
	return imp.Import, nil
}

func (imp *importer) addJSONItem(item jsonItem) error {
	var q quiz.Question
	if err := decodeStrict(item.raw, &q); err != nil {
		return imp.skipItem(item.line, string(item.raw), explainJSONError(err).Error())
	}
	return imp.addQuestion(item.line, q)
}

// setField sets one field of the document other than questions.
func (d *bankDocument) setField(key string, raw json.RawMessage) error {
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

func decodeStrict(raw json.RawMessage, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode(target)
}
