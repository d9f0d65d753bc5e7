package theme

import (
	"fmt"
	"strings"
)

// Colors are the colours that an operator chooses, in the form #rrggbb. All other colours of
// the page follow from them.
type Colors struct {
	Accent         string // of buttons and of what belongs to the player
	Background     string // of the page in the light scheme
	DarkBackground string // of the page in the dark scheme
}

// Default returns the colours of the default look.
func Default() Colors {
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
	if c == Default() {
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
