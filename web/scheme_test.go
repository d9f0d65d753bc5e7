package web

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The ratios are those of the examples in WCAG.
func TestContrastIsThatOfWCAG(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want float64
	}{{"#000000", "#ffffff", 21}, {"#777777", "#ffffff", 4.48}, {"#ffffff", "#767676", 4.54}, {"#ff0000", "#ffffff", 4.00}, {"#0000ff", "#0000FF", 1}} {
		if got := contrast(rgb(test.a), rgb(test.b)); got < test.want-0.005 || got > test.want+0.005 {
			t.Errorf("%s on %s: %.3f, want %g", test.a, test.b, got, test.want)
		}
	}
}

// An error names the key, two colours, the ratio, and colours that pass.
func TestBadColorsAreRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	ok := DefaultColors()
	for _, test := range []struct {
		colors Colors
		want   []string
	}{
		{Colors{"amber", "#fff", "#12345g"}, []string{`accent: "amber" is not a colour; use the form #rrggbb`, `background: "#fff" is`, `dark_background: "#12345g" is`}},
		{Colors{"#808080", ok.Background, ok.DarkBackground}, []string{"accent: text on #808080 has too little contrast: 4.14:1 in #10222a and 3.95:1 in #ffffff, but WCAG AA requires 4.5:1; use #888888 or lighter, or #767676 or darker"}},
		{Colors{ok.Accent, "#cc8899", ok.DarkBackground}, []string{"background: with #cc8899, the word for", "on #cc8899 has a contrast of 2.", "WCAG AA requires 4.5:1; use #", "or lighter"}},
		{Colors{ok.Accent, "#000000", "#ffffff"}, []string{"\nbackground: with #000000, ", "dark_background: with #ffffff, ", "or darker"}},
	} {
		var got strings.Builder
		for _, err := range test.colors.Check() {
			got.WriteString("\n" + err.Error())
		}
		for _, want := range test.want {
			if !strings.Contains(got.String(), want) {
				t.Errorf("%v: the errors are%s\nwithout %q", test.colors, &got, want)
			}
		}
	}
}

// The colours that an error advises pass the check.
func TestAdvisedColorsPass(t *testing.T) {
	t.Parallel()
	advice := regexp.MustCompile(`(#[0-9a-f]{6}) or (?:lighter|darker)`)
	random, advised := rand.New(rand.NewPCG(1, 2)), 0
	for range 100 {
		c := Colors{randomColor(random), randomColor(random), randomColor(random)}
		for _, err := range c.Check() {
			for _, color := range advice.FindAllStringSubmatch(err.Error(), -1) {
				fixed := DefaultColors()
				switch key, _, _ := strings.Cut(err.Error(), ":"); key {
				case "accent":
					fixed.Accent = color[1]
				case "background":
					fixed.Background = color[1]
				default:
					fixed.DarkBackground = color[1]
				}
				if errs := fixed.Check(); len(errs) > 0 && fixed.Accent == DefaultColors().Accent {
					t.Errorf("%v: %v; the advice gives %v", c, err, errs)
				}
				advised++
			}
		}
	}
	if advised < 100 {
		t.Errorf("only %d colours were advised", advised)
	}
}

func randomColor(random *rand.Rand) string {
	return color{uint8(random.IntN(256)), uint8(random.IntN(256)), uint8(random.IntN(256))}.String()
}

// Every accent that passes gives readable texts and visible controls on the default backgrounds.
func TestEveryAccentGivesReadableText(t *testing.T) {
	t.Parallel()
	random, accepted := rand.New(rand.NewPCG(3, 4)), 0
	for range 500 {
		c := DefaultColors()
		c.Accent = randomColor(random)
		if checkAccent(rgb(c.Accent)) != nil {
			continue
		}
		if errs := c.Check(); len(errs) > 0 {
			t.Errorf("accent %s: %v", c.Accent, errs)
		}
		accepted++
	}
	if accepted < 250 {
		t.Errorf("only %d accents were accepted", accepted)
	}
}

// The theme sets every colour of the default look that follows from the operator's choice. The
// others are fixed, and the theme knows them.
func TestThemeAndStylesheetHaveTheSameColors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("static/css/base.css")
	if err != nil {
		t.Fatal(err)
	}
	if DefaultColors().Stylesheet() != "" || len(DefaultColors().Check()) > 0 {
		t.Errorf("the default look has the errors %v and the stylesheet %q", DefaultColors().Check(), DefaultColors().Stylesheet())
	}
	parts := strings.Split(string(text), "@media (prefers-color-scheme: dark)")
	for i, s := range []scheme{newScheme(light, amber, rgb(DefaultColors().Background)), newScheme(dark, amber, rgb(DefaultColors().DarkBackground))} {
		declared := regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6}|rgb)`).FindAllStringSubmatch(parts[i], -1)
		if len(declared) < 20 {
			t.Fatalf("base.css declares only %d colours", len(declared))
		}
		fixed := map[string]string{"ink": s.ink.String(), "good": s.good.String(), "bad": s.bad.String()}
		for _, d := range declared {
			name, value := d[1], d[2]
			isDerived := strings.Contains(s.properties(), "--"+name+":")
			if want := fixed[name]; !isDerived && want != value && name != "focus" && !strings.HasSuffix(name, "d-wash") {
				t.Errorf("base.css has --%s: %s; the theme does not set it and knows it as %q", name, value, want)
			}
		}
	}
}
