package quiz

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
)

// The default source and licence of Open Trivia Database questions, as the site
// states them.
const (
	triviaSource  = "Open Trivia Database (opentdb.com)"
	triviaLicence = "CC-BY-SA-4.0"
)

type triviaItem struct {
	Type       string   `json:"type"`
	Difficulty string   `json:"difficulty"`
	Category   string   `json:"category"`
	Question   string   `json:"question"`
	Correct    string   `json:"correct_answer"`
	Incorrect  []string `json:"incorrect_answers"`
}

// readOpenTrivia reads the replies of the Open Trivia Database,
//
//	{"response_code":0,"results":[{"type":"multiple","difficulty":"easy","category":"…",
//	  "question":"…","correct_answer":"…","incorrect_answers":["…","…","…"]}]}
//
// or only the list of results. It accepts each encoding of this database: HTML
// entities (the default), base64 and both URL encodings. It detects the encoding
// of each item. The type "multiple" becomes our kind single. The default language
// is English.
func (imp *importer) readOpenTrivia(data []byte) error {
	imp.options = imp.options.or(ImportOptions{Lang: "en", Source: triviaSource, Licence: triviaLicence})
	items, err := readJSONItems(data, "results", checkResponseCode)
	if err != nil {
		return err
	}
	for _, item := range items {
		question, err := triviaQuestion(item.raw)
		imp.addItem(item.line, string(item.raw), question, err)
	}
	return nil
}

// triviaErrors explains the response codes of replies without results.
var triviaErrors = map[int]string{
	1: "it has fewer questions of this sort, ask for fewer",
	2: "it did not understand the request",
	3: "it does not know the session token",
	4: "the session token has seen all questions, reset it",
	5: "too many requests, wait 5 seconds",
}

func checkResponseCode(key string, raw json.RawMessage) error {
	if key != "response_code" {
		return nil
	}
	var code int
	if err := json.Unmarshal(raw, &code); err != nil {
		return errors.New("its response_code is not a number")
	}
	if code != 0 {
		return fmt.Errorf("the Open Trivia Database refused with code %d: %s", code, triviaErrors[code])
	}
	return nil
}

func triviaQuestion(raw json.RawMessage) (Question, error) {
	var item triviaItem
	if err := json.Unmarshal(raw, &item); err != nil {
		return Question{}, explainJSONError(err)
	}
	if err := item.decode(); err != nil {
		return Question{}, err
	}
	question := Question{
		Text:         item.Question,
		Category:     item.Category,
		Difficulty:   Difficulty(item.Difficulty),
		Choices:      append([]string{item.Correct}, item.Incorrect...),
		RightIndexes: []int{0},
	}
	switch item.Type {
	case "multiple":
		question.Kind = Single
	case "boolean":
		question.Kind = Boolean
		if item.Correct == "False" && len(question.Choices) == 2 {
			question.Choices[0], question.Choices[1], question.RightIndexes[0] = question.Choices[1], question.Choices[0], 1
		}
	default:
		return question, fmt.Errorf("type %q is not multiple or boolean", item.Type)
	}
	return question, nil
}

// decode decodes all text fields of the item, which have the same encoding.
func (item *triviaItem) decode() error {
	decode := item.textDecoder()
	fields := []*string{&item.Type, &item.Difficulty, &item.Category, &item.Question, &item.Correct}
	for i := range item.Incorrect {
		fields = append(fields, &item.Incorrect[i])
	}
	for _, field := range fields {
		text, err := decode(*field)
		if err != nil {
			return fmt.Errorf("%q cannot be decoded: %w", excerpt(*field), err)
		}
		*field = strings.TrimSpace(text)
	}
	return nil
}

var percentEncodedPattern = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// textDecoder detects the encoding of the item and returns a function that decodes one
// text. It recognises base64 by the field type, and URL encoding by a question
// with %XX and without spaces.
func (item *triviaItem) textDecoder() func(string) (string, error) {
	switch {
	case item.Type == "bXVsdGlwbGU=" || item.Type == "Ym9vbGVhbg==":
		return decodeBase64
	case percentEncodedPattern.MatchString(item.Question) && !strings.Contains(item.Question, " "):
		return url.QueryUnescape
	default:
		return func(s string) (string, error) { return html.UnescapeString(s), nil }
	}
}

func decodeBase64(s string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(s)
	return string(data), err
}
