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

// giftAnswer is one of the answers between braces, without its feedback.
type giftAnswer struct {
	mark   byte    // '=', '~', or 0 for text before the first marker
	weight float64 // in percent: 100 is completely right, 0 or less is wrong
	text   string
}

// isFull reports whether an answer is completely right.
func (a *giftAnswer) isFull() bool { return a.weight >= 100 }

func (a *giftAnswer) isPart() bool { return a.weight > 0 && a.weight < 100 }

var giftWeight = regexp.MustCompile(`^%(-?[0-9]+(?:\.[0-9]*)?)%`)

// splitGIFTAnswers splits the text between braces at = and ~.
func splitGIFTAnswers(answers string) []giftAnswer {
	var split []giftAnswer
	var mark byte
	for rest := answers; ; {
		end := giftIndexAny(rest, "=~")
		piece := rest
		if end >= 0 {
			piece = rest[:end]
		}
		if mark != 0 || strings.TrimSpace(piece) != "" {
			split = append(split, newGIFTAnswer(mark, piece))
		}
		if end < 0 {
			return split
		}
		mark, rest = rest[end], rest[end+1:]
	}
}

func newGIFTAnswer(mark byte, piece string) giftAnswer {
	text, _, _ := giftCut(piece, "#")
	a := giftAnswer{mark: mark, text: strings.TrimSpace(text)}
	if mark != '~' {
		a.weight = 100
	}
	if m := giftWeight.FindStringSubmatch(a.text); m != nil {
		a.weight, _ = strconv.ParseFloat(m[1], 64)
		a.text = strings.TrimSpace(a.text[len(m[0]):])
	}
	return a
}

// readChoices parses choices. If one is marked with =, the kind is single. Without
// any =, the choices have weights, and the kind is multiple.
func (b *giftBody) readChoices() error {
	b.q.Kind = quiz.Multiple
	parts := 0
	for i, a := range splitGIFTAnswers(b.answers) {
		if a.mark == 0 {
			return fmt.Errorf("%q is before the first = or ~", excerpt(a.text))
		}
		if a.mark == '=' {
			b.q.Kind = quiz.Single
		}
		if a.isPart() {
			parts++
		}
		if a.weight > 0 {
			b.q.Right = append(b.q.Right, i)
		}
		format, raw := cutGIFTFormat(a.text, b.format)
		choice, err := giftText(raw, format)
		if err != nil {
			return err
		}
		b.q.Choices = append(b.q.Choices, choice)
	}
	if b.q.Kind == quiz.Single && parts > 0 {
		return errors.New("some choices are partly right")
	}
	if b.q.Kind == quiz.Single && len(b.q.Right) > 1 {
		return errors.New("several choices are right and one would be enough; to ask for all of them give each a weight, ~%50% instead of =")
	}
	return nil
}

func (b *giftBody) readShortAnswers() error {
	b.q.Kind = quiz.Text
	for _, a := range splitGIFTAnswers(b.answers) {
		if !a.isFull() || giftIndex(a.text, "*") >= 0 {
			continue
		}
		format, raw := cutGIFTFormat(a.text, b.format)
		accepted, err := giftText(strings.ReplaceAll(raw, `\*`, "*"), format)
		if err != nil {
			return err
		}
		b.q.Accepted = append(b.q.Accepted, accepted)
	}
	if len(b.q.Accepted) == 0 {
		return errors.New("none of its answers is fully right and without the wildcard *")
	}
	return nil
}

func (b *giftBody) readNumber() error {
	b.q.Kind = quiz.Number
	for _, a := range splitGIFTAnswers(b.answers[1:]) {
		if !a.isFull() {
			continue
		}
		if b.q.Target != nil {
			return errors.New("several numbers are right")
		}
		target, err := giftTarget(giftUnescape(a.text))
		if err != nil {
			return err
		}
		b.q.Target = &target
	}
	return nil
}

// giftTarget reads "1969", "1969:2" or "1967..1971".
func giftTarget(s string) (quiz.Target, error) {
	if low, high, isRange := strings.Cut(s, ".."); isRange {
		from, errFrom := parseNumber(strings.TrimSpace(low))
		to, errTo := parseNumber(strings.TrimSpace(high))
		return quiz.Target{Value: roundDecimal(from/2 + to/2), Tolerance: roundDecimal(to/2 - from/2)}, errors.Join(errFrom, errTo)
	}
	number, tolerance, _ := strings.Cut(s, ":")
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
