package theme

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// color is an sRGB colour: red, green, blue.
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

// distance returns how far two colours are apart.
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
