package runner

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// plot is a set of lines over time, drawn as SVG.
type plot struct {
	title string
	unit  string
	log   bool // the values have a logarithmic scale
	marks []Mark
	lines []line
}

// line is one line of a plot.
type line struct {
	name   string
	points []point
}

type point struct{ at, value float64 }

// The size of a plot and of its margins.
const (
	plotWidth, plotHeight = 860.0, 220.0
	plotLeft, plotTop     = 62.0, 26.0
	plotRight, plotBottom = 16.0, 24.0
)

var colours = []string{"#2563eb", "#d97706", "#dc2626", "#059669", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f"}

// svg draws the plot.
func (p plot) svg() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s"><text x="%.0f" y="16" class="t">%s (%s)</text>`,
		plotWidth, plotHeight, template.HTMLEscapeString(p.title), plotLeft, template.HTMLEscapeString(p.title), p.unit)
	s := p.scale()
	for _, v := range s.ticks() {
		fmt.Fprintf(&b, `<path class="g" d="M%.1f %.1fH%.1f"/><text x="%.1f" y="%.1f" class="y">%s</text>`,
			plotLeft, s.y(v), plotWidth-plotRight, plotLeft-6, s.y(v)+4, short(v))
	}
	for i := range 6 {
		at := s.first + (s.last-s.first)*float64(i)/5
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" class="x">%.0f s</text>`, s.x(at), plotHeight-8, at)
	}
	for _, m := range p.marks {
		if m.AtS >= s.first && m.AtS <= s.last {
			fmt.Fprintf(&b, `<path class="m" d="M%.1f %.1fV%.1f"><title>%s</title></path>`, s.x(m.AtS), plotTop, plotHeight-plotBottom, template.HTMLEscapeString(m.What))
		}
	}
	for i, l := range p.lines {
		colour := colours[i%len(colours)]
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" points="`, colour)
		for _, one := range l.points {
			fmt.Fprintf(&b, "%.1f,%.1f ", s.x(one.at), s.y(one.value))
		}
		fmt.Fprintf(&b, `"/><text x="%.1f" y="16" style="fill:%s" class="l">%s</text>`, plotWidth-plotRight-90*float64(len(p.lines)-1-i), colour, template.HTMLEscapeString(l.name))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // what was put in is escaped
}

// scale maps times and values to coordinates.
type scale struct {
	first, last float64
	low, high   float64
	log         bool
}

func (p plot) scale() scale {
	s := scale{first: math.Inf(1), last: math.Inf(-1), low: math.Inf(1), high: math.Inf(-1), log: p.log}
	for _, l := range p.lines {
		for _, one := range l.points {
			s.first, s.last = min(s.first, one.at), max(s.last, one.at)
			s.low, s.high = min(s.low, one.value), max(s.high, one.value)
		}
	}
	if s.log {
		s.low = math.Pow(10, math.Floor(math.Log10(max(s.low, 0.1))))
		s.high = math.Pow(10, math.Ceil(math.Log10(max(s.high, s.low*10))))
		return s
	}
	s.low, s.high = 0, max(s.high*1.05, 1e-9)
	return s
}

func (s scale) x(at float64) float64 {
	return plotLeft + (plotWidth-plotLeft-plotRight)*(at-s.first)/max(s.last-s.first, 1e-9)
}

func (s scale) y(v float64) float64 {
	share := v / s.high
	if s.log {
		share = math.Log10(max(v, s.low)/s.low) / math.Log10(s.high/s.low)
	}
	return plotHeight - plotBottom - (plotHeight-plotTop-plotBottom)*share
}

// ticks returns the values of the horizontal grid lines.
func (s scale) ticks() (all []float64) {
	if s.log {
		for v := s.low; v <= s.high*1.01; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	for i := range 5 {
		all = append(all, s.high*float64(i)/4)
	}
	return all
}

// short formats a number with few characters.
func short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
