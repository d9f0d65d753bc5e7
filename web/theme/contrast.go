package theme

import "fmt"

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
