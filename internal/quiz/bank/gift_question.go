package bank

import (
	"errors"
	"strings"

	"laststand/internal/quiz"
)

// giftQuestion parses one block: [::title::][[format]]text{answers}[text].
func giftQuestion(block, lang string) (quiz.Question, error) {
	format, text := cutGIFTFormat(cutGIFTTitle(block), giftMoodle)
	stem, answers, tail, err := cutGIFTAnswers(text)
	if err != nil {
		return quiz.Question{}, err
	}
	answers, explanation, _ := giftCut(answers, "####")
	b := giftBody{answers: strings.TrimSpace(answers), format: format, lang: lang}
	if err := b.read(); err != nil {
		return quiz.Question{}, err
	}
	q := b.q
	if q.Text, err = giftText(joinGIFTText(stem, tail, q.Kind), format); err != nil {
		return quiz.Question{}, err
	}
	format, explanation = cutGIFTFormat(explanation, format)
	q.Explanation, err = giftText(explanation, format)
	return q, err
}

func cutGIFTTitle(block string) string {
	const mark = "::"
	if !strings.HasPrefix(block, mark) {
		return block
	}
	if _, text, found := giftCut(block[len(mark):], mark); found {
		return text
	}
	return block
}

// cutGIFTAnswers splits a text into the parts before, in and after the braces.
func cutGIFTAnswers(text string) (stem, answers, tail string, err error) {
	stem, rest, found := giftCut(text, "{")
	if !found {
		return "", "", "", errors.New("it has no answers in { }, only a description")
	}
	answers, tail, found = giftCut(rest, "}")
	if !found {
		return "", "", "", errors.New("its { has no } before the next blank line")
	}
	if giftIndex(tail, "{") >= 0 || giftIndex(tail, "}") >= 0 {
		return "", "", "", errors.New("it has more than one { }: put a blank line between questions and a backslash before a literal brace")
	}
	return stem, answers, tail, nil
}

// joinGIFTText joins the texts before and after the answers. It puts a gap (_____)
// between them, except for true or false.
func joinGIFTText(stem, tail string, kind quiz.Kind) string {
	if strings.TrimSpace(tail) == "" {
		return stem
	}
	if kind == quiz.Boolean {
		return strings.TrimRight(stem, " ") + tail
	}
	return stem + "_____" + tail
}

// giftBody parses the text between the braces: the kind of a question and its
// answers.
type giftBody struct {
	answers string     // the text between the braces
	format  giftFormat // default format of the answers
	lang    string
	q       quiz.Question // the result; has no text yet
}

// read finds the kind of the question by the same rules as Moodle, in the same
// order, and parses the answers.
func (b *giftBody) read() error {
	switch {
	case b.answers == "":
		return errors.New("it is an essay, which the server cannot check")
	case b.answers[0] == '#':
		return b.readNumber()
	case giftIndex(b.answers, "~") >= 0:
		return b.readChoices()
	case giftIndex(b.answers, "=") >= 0 && strings.Contains(b.answers, "->"):
		return errors.New("it asks to match pairs, which is not supported")
	}
	word, _, _ := giftCut(b.answers, "#")
	switch strings.ToUpper(strings.TrimSpace(word)) {
	case "T", "TRUE":
		b.setBoolean(0)
	case "F", "FALSE":
		b.setBoolean(1)
	default:
		return b.readShortAnswers()
	}
	return nil
}

func (b *giftBody) setBoolean(right int) {
	b.q.Kind, b.q.Choices, b.q.Right = quiz.Boolean, trueAndFalse(b.lang), []int{right}
}
