package web

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

type color [3]uint8

var (
	black = color{}
	white = color{255, 255, 255}
)

// parse reads a colour of the form #rrggbb.
func parse(text string) (c color, err error) {
	digits, ok := strings.CutPrefix(text, "#")
	if raw, err := hex.DecodeString(digits); ok && err == nil && len(raw) == len(c) {
		return color(raw), nil
	}
	return c, fmt.Errorf("%q is not a colour; use the form #rrggbb, such as #ffb928", text)
}

// rgb is parse for a constant. It panics if the text is no colour.
func rgb(text string) color {
	c, err := parse(text)
	if err != nil {
		panic(err)
	}
	return c
}

func (c color) String() string { return "#" + hex.EncodeToString(c[:]) }

// towards returns the colour that is a share (0 to 1) of the way from c to another.
func (c color) towards(other color, share float64) (mixed color) {
	for i := range c {
		mixed[i] = uint8(math.Round(float64(c[i]) + share*(float64(other[i])-float64(c[i]))))
	}
	return mixed
}

// firstTowards returns the first good colour on the way from c to an end, or the end.
func (c color) firstTowards(end color, isGood func(color) bool) color {
	for share := 0.0; share < 1; share += 0.02 {
		if mixed := c.towards(end, share); isGood(mixed) {
			return mixed
		}
	}
	return end
}

func (c color) distance(other color) float64 {
	sum := 0.0
	for i := range c {
		sum += math.Pow(float64(c[i])-float64(other[i]), 2)
	}
	return math.Sqrt(sum)
}

// luminance returns the relative luminance as WCAG defines it, from 0 (black) to 1.
func (c color) luminance() float64 {
	return 0.2126*linear[c[0]] + 0.7152*linear[c[1]] + 0.0722*linear[c[2]]
}

// linear has the intensity of light, 0 to 1, by the value of an sRGB channel.
var linear = func() (intensities [256]float64) {
	for value := range intensities {
		channel := float64(value) / 255
		if channel <= 0.04045 {
			intensities[value] = channel / 12.92
		} else {
			intensities[value] = math.Pow((channel+0.055)/1.055, 2.4)
		}
	}
	return intensities
}()

// contrast returns the contrast ratio of two colours as WCAG defines it, from 1 to 21.
func contrast(a, b color) float64 {
	lighter, darker := max(a.luminance(), b.luminance()), min(a.luminance(), b.luminance())
	return (lighter + 0.05) / (darker + 0.05)
}

// pair is a foreground on a background, as the stylesheets use them.
type pair struct {
	what     string // the foreground
	fore     color
	back     color
	required float64
}

func (p pair) ratio() float64 { return contrast(p.fore, p.back) }

// pairs lists every text and every border of a control on each background where the
// stylesheets show it.
func (s scheme) pairs() (all []pair) {
	add := func(what string, fore color, required float64, backgrounds ...color) {
		for _, background := range backgrounds {
			all = append(all, pair{what, fore, background, required})
		}
	}
	everywhere := []color{s.ground, s.surface, s.me.wash, s.them.wash}
	add("text", s.ink, textRatio, append(everywhere, s.raised)...)
	add("small text", s.soft, textRatio, everywhere...)
	add("the word for a right answer", s.good, textRatio, everywhere...)
	add("the word for a wrong answer", s.bad, textRatio, everywhere...)
	add("the border of controls", s.rim, controlRatio, s.ground, s.surface, s.raised)
	add("the player's score", s.me.ink, textRatio, s.ground, s.surface, s.me.wash)
	add("the opponent's score", s.them.ink, textRatio, s.ground, s.surface, s.them.wash)
	add("the opponent's lamp", s.them.onInk, textRatio, s.them.ink)
	add("text on buttons", s.me.onFill, textRatio, s.me.fill)
	add("the border of buttons", s.me.edge, controlRatio, s.ground)
	return all
}

// worstPair returns the pair that lacks most of the contrast that it requires.
func (s scheme) worstPair() (worst pair, isTooLow bool) {
	for i, p := range s.pairs() {
		if i == 0 || p.ratio()/p.required < worst.ratio()/worst.required {
			worst = p
		}
	}
	return worst, worst.ratio() < worst.required
}

// checkAccent returns an error if no text is readable on an accent.
func checkAccent(accent color) error {
	isReadable := func(c color) bool { return contrast(readableOn(c), c) >= textRatio }
	if isReadable(accent) {
		return nil
	}
	return fmt.Errorf("text on %s has too little contrast: %.2f:1 in %s and %.2f:1 in %s, but WCAG AA requires %g:1; use %s or lighter, or %s or darker", accent,
		contrast(darkInk, accent), darkInk, contrast(white, accent), white, textRatio, accent.firstTowards(white, isReadable), accent.firstTowards(black, isReadable))
}

// checkBackground returns an error if a text or a control is hard to see on a background of
// a scheme.
func checkBackground(t tones, accent, background color) error {
	worst, isTooLow := newScheme(t, accent, background).worstPair()
	if !isTooLow {
		return nil
	}
	isReadable := func(c color) bool {
		_, isTooLow := newScheme(t, accent, c).worstPair()
		return !isTooLow
	}
	direction := "darker"
	if t.farEnd == white {
		direction = "lighter"
	}
	return fmt.Errorf("with %s, %s in %s on %s has a contrast of %.2f:1, but WCAG AA requires %g:1; use %s or %s", background,
		worst.what, worst.fore, worst.back, worst.ratio(), worst.required, background.firstTowards(t.farEnd, isReadable), direction)
}
