package web

import (
	"fmt"
	"slices"
	"strings"
)

// Colors are the colours that an operator chooses, in the form #rrggbb. All other colours of
// the page follow from them.
type Colors struct {
	Accent         string // of buttons and of what belongs to the player
	Background     string // of the page in the light scheme
	DarkBackground string // of the page in the dark scheme
}

// DefaultColors returns the colours of the default look.
func DefaultColors() Colors {
	return Colors{Accent: amber.String(), Background: "#eaf0ef", DarkBackground: "#0d181e"}
}

// Check returns an error for each colour that is malformed or leaves texts or controls hard
// to see. The text of an error begins with the configuration key of the colour.
func (c Colors) Check() (errs []error) {
	add := func(key string, err error) bool {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
		return err == nil
	}
	accent, err := parse(c.Accent)
	if !add("accent", err) || !add("accent", checkAccent(accent)) {
		accent = amber // so that the backgrounds are checked too
	}
	background, err := parse(c.Background)
	if add("background", err) {
		add("background", checkBackground(light, accent, background))
	}
	background, err = parse(c.DarkBackground)
	if add("dark_background", err) {
		add("dark_background", checkBackground(dark, accent, background))
	}
	return errs
}

// Stylesheet returns the CSS that replaces the colours of the default look. It is empty for
// the default colours. The colours must have passed Check.
func (c Colors) Stylesheet() string {
	if c == DefaultColors() {
		return ""
	}
	accent := rgb(c.Accent)
	return ":root{" + newScheme(light, accent, rgb(c.Background)).properties() + "}\n" +
		"@media (prefers-color-scheme:dark){:root{" + newScheme(dark, accent, rgb(c.DarkBackground)).properties() + "}}\n"
}

// spotAlpha is the opacity of the spotlights behind the page. Texts are readable on a wash, and
// so on every mixture of a wash and the background.
const spotAlpha = "99"

// properties returns the custom properties that base.css declares for the colours.
func (s scheme) properties() string {
	var css strings.Builder
	for _, property := range []struct {
		name  string
		value color
	}{
		{"ground", s.ground}, {"surface", s.surface}, {"raised", s.raised}, {"soft", s.soft}, {"line", s.line}, {"edge", s.edge}, {"rim", s.rim},
		{"me", s.me.fill}, {"on-me", s.me.onFill}, {"me-ink", s.me.ink}, {"me-wash", s.me.wash}, {"me-edge", s.me.edge},
		{"them", s.them.fill}, {"on-them", s.them.onInk}, {"them-ink", s.them.ink}, {"them-wash", s.them.wash},
	} {
		fmt.Fprintf(&css, "--%s:%s;", property.name, property.value)
	}
	fmt.Fprintf(&css, "--spot-me:%s%s;--spot-them:%s%s", s.me.wash, spotAlpha, s.them.wash, spotAlpha)
	return css.String()
}

// Contrast ratios that WCAG requires at level AA.
const (
	textRatio    = 4.5 // of text, 1.4.3
	controlRatio = 3.0 // of the borders of controls, 1.4.11
)

// tones are the colours of the light or the dark scheme that no operator chooses.
type tones struct {
	ink, good, bad color   // text; text about something right or wrong
	farEnd         color   // backgrounds become easier to read on towards this colour
	panelEnd       color   // panels and tiles are between the background and this colour
	panelShare     float64 // how far panels are on that way; tiles are twice as far
	fillRatio      float64 // least contrast of a button with the background; 1: its border shows it
	edgeShare      float64 // how far the border of a button is from its colour towards dark ink
}

var (
	light = tones{ink: darkInk, good: rgb("#0b7547"), bad: rgb("#b02e1c"), farEnd: white, panelEnd: white, panelShare: 1, fillRatio: 1, edgeShare: 1}
	dark  = tones{ink: rgb("#eef4f2"), good: rgb("#67dca0"), bad: rgb("#ff9584"), farEnd: black, panelEnd: rgb("#eef4f2"), panelShare: 0.05, fillRatio: controlRatio, edgeShare: 0.35}

	darkInk = rgb("#10222a")
	amber   = rgb("#ffb928")
	blue    = rgb("#3d7be0")
)

// scheme has the colours of a page in the light or the dark scheme.
type scheme struct {
	tones
	ground, surface, raised color // of the page, of panels, of tiles
	soft                    color // less important text
	line, edge, rim         color // separators, shadows of tiles, borders of controls
	me, them                side
}

// side has the colours of the player, or of the opponents.
type side struct {
	fill   color // of buttons and marks
	onFill color // text on fill
	wash   color // background of rows and panels
	ink    color // text on ground, surface and wash
	onInk  color // text on ink
	edge   color // border of a button with fill
}

// newScheme derives all colours of a scheme from an accent and a background.
func newScheme(t tones, accent, background color) scheme {
	s := scheme{
		tones: t, ground: background, surface: background.towards(t.panelEnd, t.panelShare), raised: background.towards(t.panelEnd, min(1, 2*t.panelShare)),
		soft: background.towards(t.ink, 0.72), line: background.towards(t.ink, 0.2), rim: background.towards(t.ink, 0.52), edge: background.towards(darkInk, 0.3),
	}
	s.me, s.them = s.side(accent), s.side(opponentOf(accent))
	return s
}

// opponentOf returns the colour of opponents: the one of the two in the default look that
// differs more from the accent.
func opponentOf(accent color) color {
	if accent.distance(blue) > accent.distance(amber) {
		return blue
	}
	return amber
}

func (s scheme) side(accent color) side {
	fill := accent.firstTowards(s.ink, func(c color) bool {
		return contrast(c, s.ground) >= s.fillRatio && contrast(readableOn(c), c) >= textRatio
	})
	result := side{fill: fill, onFill: readableOn(fill), wash: s.wash(fill)}
	result.ink = reach(fill, s.ink, textRatio, s.ground, s.surface, result.wash)
	result.onInk = readableOn(result.ink)
	result.edge = reach(fill.towards(darkInk, s.edgeShare), s.ink, controlRatio, s.ground)
	return result
}

// wash returns the strongest tint of a panel on which all texts are readable.
func (s scheme) wash(fill color) color {
	for share := 0.32; share > 0; share -= 0.02 {
		tint := s.surface.towards(fill, share)
		texts := []color{s.ink, s.soft, s.good, s.bad}
		if !slices.ContainsFunc(texts, func(text color) bool { return contrast(text, tint) < textRatio }) {
			return tint
		}
	}
	return s.surface
}

// readableOn returns dark ink or white, whichever has more contrast with a colour.
func readableOn(background color) color {
	if contrast(darkInk, background) >= contrast(white, background) {
		return darkInk
	}
	return white
}

// reach returns the first colour on the way from one colour to another that has a contrast
// ratio with all backgrounds.
func reach(from, to color, ratio float64, backgrounds ...color) color {
	return from.firstTowards(to, func(c color) bool {
		return !slices.ContainsFunc(backgrounds, func(background color) bool { return contrast(c, background) < ratio })
	})
}
