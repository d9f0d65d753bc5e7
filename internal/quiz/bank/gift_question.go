package bank

import (
	"errors"
	"strings"

	"laststand/internal/quiz"
)

// parseGIFTQuestion parses one block: [::title::][[format]]text{answers}[text].
func parseGIFTQuestion(block, lang string) (quiz.Question, error) {
	format, text := cutGIFTFormat(cutGIFTTitle(block), giftMoodle)
	textBefore, answers, textAfter, err := cutGIFTAnswers(text)
	if err != nil {
		return quiz.Question{}, err
	}
	answers, explanation, _ := cutUnescaped(answers, "####")
	body := giftBody{answers: strings.TrimSpace(answers), format: format, lang: lang}
	if err := body.parse(); err != nil {
		return quiz.Question{}, err
	}
	question := body.question
	if question.Text, err = plainGIFTText(joinGIFTText(textBefore, textAfter, question.Kind), format); err != nil {
		return quiz.Question{}, err
	}
	format, explanation = cutGIFTFormat(explanation, format)
	question.Explanation, err = plainGIFTText(explanation, format)
	return question, err
}

func cutGIFTTitle(block string) string {
	const mark = "::"
	if !strings.HasPrefix(block, mark) {
		return block
	}
	if _, text, found := cutUnescaped(block[len(mark):], mark); found {
		return text
	}
	return block
}

// cutGIFTAnswers splits a text into the parts before, in and after the braces.
func cutGIFTAnswers(text string) (textBefore, answers, textAfter string, err error) {
	textBefore, rest, found := cutUnescaped(text, "{")
	if !found {
		return "", "", "", errors.New("it has no answers in { }, only a description")
	}
	answers, textAfter, found = cutUnescaped(rest, "}")
	if !found {
		return "", "", "", errors.New("its { has no } before the next blank line")
	}
	if indexUnescaped(textAfter, "{") >= 0 || indexUnescaped(textAfter, "}") >= 0 {
		return "", "", "", errors.New("it has more than one { }: put a blank line between questions and a backslash before a literal brace")
	}
	return textBefore, answers, textAfter, nil
}

// joinGIFTText joins the texts before and after the answers. It puts a gap (_____)
// between them, except for true or false.
func joinGIFTText(textBefore, textAfter string, kind quiz.Kind) string {
	if strings.TrimSpace(textAfter) == "" {
		return textBefore
	}
	if kind == quiz.Boolean {
		return strings.TrimRight(textBefore, " ") + textAfter
	}
	return textBefore + "_____" + textAfter
}

// parse finds the kind of the question by the same rules as Moodle, in the same
// order, and parses the answers.
func (b *giftBody) parse() error {
	switch {
	case b.answers == "":
		return errors.New("it is an essay, which the server cannot check")
	case b.answers[0] == '#':
		return b.parseNumber()
	case indexUnescaped(b.answers, "~") >= 0:
		return b.parseChoices()
	case indexUnescaped(b.answers, "=") >= 0 && strings.Contains(b.answers, "->"):
		return errors.New("it asks to match pairs, which is not supported")
	}
	word, _, _ := cutUnescaped(b.answers, "#")
	switch strings.ToUpper(strings.TrimSpace(word)) {
	case "T", "TRUE":
		b.setBoolean(0)
	case "F", "FALSE":
		b.setBoolean(1)
	default:
		return b.parseShortAnswers()
	}
	return nil
}

func (b *giftBody) setBoolean(right int) {
	b.question.Kind, b.question.Choices, b.question.RightIndexes = quiz.Boolean, booleanChoicesIn(b.lang), []int{right}
}
