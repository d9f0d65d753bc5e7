package bank

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"laststand/internal/quiz"
)

// giftBody parses the text between the braces: the kind of a question and its
// answers.
type giftBody struct {
	answers  string     // the text between the braces
	format   giftFormat // default format of the answers
	lang     string
	question quiz.Question // the result; has no text yet
}

// giftAnswer is one of the answers between braces, without its feedback.
type giftAnswer struct {
	marker byte    // '=', '~', or 0 for text before the first marker
	weight float64 // in percent: 100 is completely right, 0 or less is wrong
	text   string
}

// isFullyRight reports whether an answer is completely right.
func (a *giftAnswer) isFullyRight() bool { return a.weight >= 100 }

func (a *giftAnswer) isPartlyRight() bool { return a.weight > 0 && a.weight < 100 }

var giftWeightPattern = regexp.MustCompile(`^%(-?[0-9]+(?:\.[0-9]*)?)%`)

// splitGIFTAnswers splits the text between braces at = and ~.
func splitGIFTAnswers(answers string) []giftAnswer {
	var list []giftAnswer
	var marker byte
	for rest := answers; ; {
		end := indexAnyUnescaped(rest, "=~")
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
	b.question.Kind = quiz.Multiple
	partlyRight := 0
	for i, answer := range splitGIFTAnswers(b.answers) {
		if answer.marker == 0 {
			return fmt.Errorf("%q is before the first = or ~", excerpt(answer.text))
		}
		if answer.marker == '=' {
			b.question.Kind = quiz.Single
		}
		if answer.isPartlyRight() {
			partlyRight++
		}
		if answer.weight > 0 {
			b.question.RightIndexes = append(b.question.RightIndexes, i)
		}
		format, raw := cutGIFTFormat(answer.text, b.format)
		choice, err := plainGIFTText(raw, format)
		if err != nil {
			return err
		}
		b.question.Choices = append(b.question.Choices, choice)
	}
	if b.question.Kind == quiz.Single && partlyRight > 0 {
		return errors.New("some choices are partly right")
	}
	if b.question.Kind == quiz.Single && len(b.question.RightIndexes) > 1 {
		return errors.New("several choices are right and one would be enough; to ask for all of them give each a weight, ~%50% instead of =")
	}
	return nil
}

func (b *giftBody) parseShortAnswers() error {
	b.question.Kind = quiz.Text
	for _, answer := range splitGIFTAnswers(b.answers) {
		if !answer.isFullyRight() || indexUnescaped(answer.text, "*") >= 0 {
			continue
		}
		format, raw := cutGIFTFormat(answer.text, b.format)
		accepted, err := plainGIFTText(strings.ReplaceAll(raw, `\*`, "*"), format)
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
	b.question.Kind = quiz.Number
	for _, answer := range splitGIFTAnswers(b.answers[1:]) {
		if !answer.isFullyRight() {
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
func parseGIFTTarget(text string) (quiz.Target, error) {
	if low, high, isRange := strings.Cut(text, ".."); isRange {
		lowest, errFrom := parseNumber(strings.TrimSpace(low))
		highest, errTo := parseNumber(strings.TrimSpace(high))
		return quiz.Target{Value: roundDecimal(lowest/2 + highest/2), Tolerance: roundDecimal(highest/2 - lowest/2)}, errors.Join(errFrom, errTo)
	}
	number, tolerance, _ := strings.Cut(text, ":")
	value, err := parseNumber(strings.TrimSpace(number))
	if err != nil {
		return quiz.Target{}, err
	}
	target := quiz.Target{Value: value}
	if tolerance = strings.TrimSpace(tolerance); tolerance != "" {
		target.Tolerance, err = parseNumber(tolerance)
	}
	return target, err
}

// roundDecimal removes the rounding error of halved decimals: 0.1, not
// 0.09999999999999999.
func roundDecimal(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	return rounded
}
