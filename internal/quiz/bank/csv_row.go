package bank

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"laststand/internal/quiz"
)

// maxCSVChoices is the number of columns choice1, choice2 …
const maxCSVChoices = 8

var csvColumns = append([]string{
	"id", "kind", "text", "right", "value", "tolerance", "accepted", "category", "difficulty", "lang",
	"explanation", "source", "licence", "media",
}, choiceColumns()...)

func choiceColumns() []string {
	var names []string
	for n := 1; n <= maxCSVChoices; n++ {
		names = append(names, "choice"+strconv.Itoa(n))
	}
	return names
}

// csvRow has the non-empty cells of a row, by the name of the column.
type csvRow map[string]string

func (row csvRow) toQuestion(defaultLang string) (quiz.Question, error) {
	question := quiz.Question{
		ID: row["id"], Kind: quiz.Kind(strings.ToLower(row["kind"])), Lang: row["lang"], Category: row["category"],
		Difficulty: quiz.Difficulty(strings.ToLower(row["difficulty"])), Text: row["text"],
		Explanation: row["explanation"], Source: row["source"], Licence: row["licence"], Media: row["media"],
	}
	row.setAccepted(&question)
	lang := question.Lang
	setDefault(&lang, defaultLang)
	return question, errors.Join(row.setChoices(&question, lang), row.setTarget(&question))
}

func (row csvRow) setChoices(q *quiz.Question, lang string) error {
	for n, name := range choiceColumns() {
		choice, isSet := row[name]
		if isSet && len(q.Choices) < n {
			return fmt.Errorf("choice%d is empty but %s is not", len(q.Choices)+1, name)
		}
		if isSet {
			q.Choices = append(q.Choices, choice)
		}
	}
	if q.Kind == quiz.Boolean && len(q.Choices) == 0 {
		q.Choices = booleanChoicesIn(lang)
	}
	return row.setRight(q)
}

func (row csvRow) setRight(q *quiz.Question) error {
	if row["right"] == "" {
		return nil
	}
	for number := range strings.SplitSeq(row["right"], ";") {
		number = strings.ToLower(strings.TrimSpace(number))
		if q.Kind == quiz.Boolean && number == "true" {
			number = "1"
		} else if q.Kind == quiz.Boolean && number == "false" {
			number = "2"
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(q.Choices) {
			return fmt.Errorf("right: %q is not the number of a choice, 1 to %d", number, len(q.Choices))
		}
		q.RightIndexes = append(q.RightIndexes, n-1)
	}
	return nil
}

func (row csvRow) setTarget(q *quiz.Question) error {
	if q.Kind != quiz.Number {
		if row["tolerance"] != "" || row["value"] != "" {
			return fmt.Errorf("value and tolerance do not fit kind %s", q.Kind)
		}
		return nil
	}
	value, err := parseNumber(row["value"])
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	q.Target = &quiz.Target{Value: value}
	if row["tolerance"] == "" {
		return nil
	}
	if q.Target.Tolerance, err = parseNumber(row["tolerance"]); err != nil {
		return fmt.Errorf("tolerance: %w", err)
	}
	return nil
}

func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number such as 1969 or 3.14", excerpt(s))
	}
	return v, nil
}

func (row csvRow) setAccepted(q *quiz.Question) {
	for accepted := range strings.SplitSeq(row["accepted"], "|") {
		if accepted = strings.TrimSpace(accepted); accepted != "" {
			q.Accepted = append(q.Accepted, accepted)
		}
	}
}
