package quiz

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// parseGIFTQuestion parses one block: [::title::][[format]]text{answers}[text].
func parseGIFTQuestion(block, lang string) (Question, error) {
	text := cutGIFTTitle(block)
	format, _ := cutGIFTFormat(text, giftMoodle)
	textBefore, answers, textAfter, err := cutGIFTAnswers(text)
	if err != nil {
		return Question{}, err
	}
	answers, explanation, _ := cutUnescaped(answers, "####")
	body := giftBody{answers: strings.TrimSpace(answers), format: format, lang: lang}
	if err := body.parse(); err != nil {
		return Question{}, err
	}
	question := body.question
	if question.Text, err = plainGIFTText(joinGIFTText(textBefore, textAfter, question.Kind), format); err != nil {
		return Question{}, err
	}
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
	if indexUnescaped(textAfter, "{", "}") >= 0 {
		return "", "", "", errors.New("it has more than one { }: put a blank line between questions and a backslash before a literal brace")
	}
	return textBefore, answers, textAfter, nil
}

// joinGIFTText joins the texts before and after the answers. It puts a gap (_____)
// between them, except for true or false.
func joinGIFTText(textBefore, textAfter string, kind Kind) string {
	if strings.TrimSpace(textAfter) == "" {
		return textBefore
	}
	if kind == Boolean {
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
	b.question.Kind, b.question.Choices, b.question.RightIndexes = Boolean, booleanChoicesIn(b.lang), []int{right}
}

// giftBody parses the text between the braces: the kind of a question and its
// answers.
type giftBody struct {
	answers  string     // the text between the braces
	format   giftFormat // default format of the answers
	lang     string
	question Question // the result; has no text yet
}

// giftAnswer is one of the answers between braces, without its feedback.
type giftAnswer struct {
	marker byte    // '=', '~', or 0 for text before the first marker
	weight float64 // in percent: 100 is completely right, 0 or less is wrong
	text   string
}

var giftWeightPattern = regexp.MustCompile(`^%(-?[0-9]+(?:\.[0-9]*)?)%`)

// splitGIFTAnswers splits the text between braces at = and ~.
func splitGIFTAnswers(answers string) []giftAnswer {
	var list []giftAnswer
	var marker byte
	for rest := answers; ; {
		end := indexUnescaped(rest, "=", "~")
		piece := rest
		if end >= 0 {
			piece = rest[:end]
		}
		if marker != 0 || strings.TrimSpace(piece) != "" {
			list = append(list, newGIFTAnswer(marker, piece))
		}
		if end < 0 {
			return list
		}
		marker, rest = rest[end], rest[end+1:]
	}
}

func newGIFTAnswer(marker byte, piece string) giftAnswer {
	text, _, _ := cutUnescaped(piece, "#")
	answer := giftAnswer{marker: marker, text: strings.TrimSpace(text)}
	if marker != '~' {
		answer.weight = 100
	}
	if match := giftWeightPattern.FindStringSubmatch(answer.text); match != nil {
		answer.weight, _ = strconv.ParseFloat(match[1], 64)
		answer.text = strings.TrimSpace(answer.text[len(match[0]):])
	}
	return answer
}

// parseChoices parses choices. If one is marked with =, the kind is single. Without
// any =, the choices have weights, and the kind is multiple.
func (b *giftBody) parseChoices() error {
	b.question.Kind = Multiple
	hasPartlyRight := false
	for i, answer := range splitGIFTAnswers(b.answers) {
		if answer.marker == 0 {
			return fmt.Errorf("%q is before the first = or ~", excerpt(answer.text))
		}
		if answer.marker == '=' {
			b.question.Kind = Single
		}
		if answer.weight > 0 {
			b.question.RightIndexes = append(b.question.RightIndexes, i)
			hasPartlyRight = hasPartlyRight || answer.weight < 100
		}
		choice, err := plainGIFTText(answer.text, b.format)
		if err != nil {
			return err
		}
		b.question.Choices = append(b.question.Choices, choice)
	}
	switch {
	case b.question.Kind == Single && hasPartlyRight:
		return errors.New("some choices are partly right")
	case b.question.Kind == Single && len(b.question.RightIndexes) > 1:
		return errors.New("several choices are right and one would be enough; to ask for all of them give each a weight, ~%50% instead of =")
	}
	return nil
}

func (b *giftBody) parseShortAnswers() error {
	b.question.Kind = Text
	for _, answer := range splitGIFTAnswers(b.answers) {
		if answer.weight < 100 || indexUnescaped(answer.text, "*") >= 0 {
			continue
		}
		accepted, err := plainGIFTText(strings.ReplaceAll(answer.text, `\*`, "*"), b.format)
		if err != nil {
			return err
		}
		b.question.Accepted = append(b.question.Accepted, accepted)
	}
	if len(b.question.Accepted) == 0 {
		return errors.New("none of its answers is fully right and without the wildcard *")
	}
	return nil
}

func (b *giftBody) parseNumber() error {
	b.question.Kind = Number
	for _, answer := range splitGIFTAnswers(b.answers[1:]) {
		if answer.weight < 100 {
			continue
		}
		if b.question.Target != nil {
			return errors.New("several numbers are right")
		}
		target, err := parseGIFTTarget(unescapeGIFT(answer.text))
		if err != nil {
			return err
		}
		b.question.Target = &target
	}
	return nil
}

// parseGIFTTarget reads "1969", "1969:2" or "1967..1971".
func parseGIFTTarget(text string) (Target, error) {
	if low, high, isRange := strings.Cut(text, ".."); isRange {
		lowest, errFrom := parseNumber(strings.TrimSpace(low))
		highest, errTo := parseNumber(strings.TrimSpace(high))
		return Target{Value: roundDecimal(lowest/2 + highest/2), Tolerance: roundDecimal(highest/2 - lowest/2)}, errors.Join(errFrom, errTo)
	}
	number, tolerance, _ := strings.Cut(text, ":")
	value, err := parseNumber(strings.TrimSpace(number))
	if err != nil {
		return Target{}, err
	}
	target := Target{Value: value}
	if tolerance = strings.TrimSpace(tolerance); tolerance != "" {
		target.Tolerance, err = parseNumber(tolerance)
	}
	return target, err
}

// roundDecimal removes the rounding error of halved decimals: 0.1, not
// 0.09999999999999999.
func roundDecimal(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	return rounded
}
