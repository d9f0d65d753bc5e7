package quiz_test

import (
	"fmt"
	"strings"
	"testing"

	"laststand/internal/quiz"
)

func TestReadGIFTImportsTheSample(t *testing.T) {
	t.Parallel()
	wantImport{
		imported: []string{
			"6 single en Rivers/Lakes medium: Which river is the longest in Africa? | The Nile* | The Congo | The Niger # The Nile is about 6650 km long.",
			"13 single en Rivers/Lakes medium: What _____ is the deepest lake. | Lake Baikal* | Lake Victoria | Lake {Tahoe}",
			"17 multiple en Science medium: Two of these are noble gases. Which? | Neon* | Argon* | Oxygen | Nitrogen",
			"24 boolean en Science medium: The Sun is a star. | True* | False",
			"26 boolean en Science medium: 1 + 1 = 3 | True | False* # Count your fingers.",
			"30 text en Science medium: Name the satellite of the Earth. | =the Moon | =Moon",
			"32 number en Science medium: When did people first walk on the Moon? | 1969±0",
			"34 number en Science medium: How long is the equator, in km? | 40075±25",
			"36 number en Science medium: A number from one to five | 3±2",
			"38 number en Science medium: A tenth to three tenths | 0.2±0.1",
			"40 number en Science medium: Pi? | 3.1416±0.0001",
			"64 single en Science medium: _____ is the capital of France. | Paris* | Lyon",
			"66 single en Science medium: Which tag is bold? | <b>* | <i> | a &lt; b",
			"68 single en Science medium: 10² is | 100* | 20 | 2¹⁰ | 1st",
			`72 single en Science medium: Which path is right? | C:\new* | C:/new | C⏎new`,
		},
		skipped: []string{
			"28: some choices are partly right",
			"45: it asks to match pairs",
			"50: it is an essay",
			"52: it is an essay",
			"54: it has no answers",
			"56: it needs a picture",
			"58: several choices are right and one would be enough",
			"60: some choices are partly right",
			"62: its { has no }",
			"70: it has more than one { }",
			`74: "stray" is before`,
			"76: none of its choices is right",
			"78: it has 7 choices",
			`80: "about 5" is not a number`,
		},
	}.check(t, readSample(t, "school.gift", defaultOptions))
}

func TestReadGIFTWithWindowsLines(t *testing.T) {
	t.Parallel()
	wantImport{imported: []string{
		"1 boolean zh-TW 常識 hard: First? | 對* | 錯",
		"5 single zh-TW 常識 hard: Second⏎? | yes* | no",
	}}.check(t, readSample(t, "crlf.gift", quiz.ImportOptions{Lang: "zh-tw", Category: "常識", Difficulty: quiz.Hard}))
}

func TestReadGIFTParsesEachKind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ gift, want string }{
		{`Q{ = }`, "accepted text 1 is empty"},
		{`Q{answer}`, "Q | =answer"},
		{`Q{=*a =b}`, "Q | =b"},
		{`Q{=a\*b}`, "Q | =a*b"},
		{`Q{=*}`, "none of its answers"},
		{`Q{=%50%a}`, "none of its answers"},
		{`Q{#}`, "it has no number"},
		{`Q{#=1 =2}`, "several numbers"},
		{`Q{#=1:0.5#fine ~#wrong}`, "Q | 1±0.5"},
		{`Q{#-5..5}`, "Q | 0±5"},
		{`Q{#5..-5}`, "its tolerance is below 0"},
		{`Q{#1e400}`, "is not a number"},
		{`Q{#inf}`, "its number is not finite"},
		{`Q{#1:x}`, `"x" is not a number`},
		{`Q{~%33.33333%a ~%33.33333%b ~%33.33333%c ~%-100%d}`, "Q | a* | b* | c* | d"},
		{`Q{~%100%a ~b}`, "Q | a* | b"},
		{`Q{=a#x\=y\~z ~b}`, "Q | a* | b"},
		{`::t::{=a ~b}`, "the text is empty"},
		{`::t Q{=a ~b}`, "::t Q | a* | b"},
		{`[markdown]*Q*{=a ~b}`, "*Q* | a* | b"},
		{`[HTML]a&lt;b<br>c{=a ~b}`, "a<b⏎c | a* | b"},
		{`if a<b and c>d{=a ~b}`, "if a<b and c>d | a* | b"},
		{`x<sup>n</sup>{=a ~b}`, "x^n | a* | b"},
		{`Sum{=a ~b}.`, "Sum_____. | a* | b"},
		{`The sky is blue {T}.`, "The sky is blue. | True* | False"},
		{`Q{=a -> b =c -> d}`, "match pairs"},
		{`Q{=a -> b ~c}`, "Q | a -> b* | c"},
		{`Q{=![x](y.png) ~b}`, "it needs a picture"},
		{"Q{=a ~b\n//comment\n~c}", "Q | a* | b | c"},
		{`Q\{x\}{=a ~b}`, "Q{x} | a* | b"},
		{`Q}{=a ~b}`, "Q} | a* | b"},
		{`Q{=a ~b}}`, "it has more than one"},
		{`Q{T####}`, "Q | True* | False"},
	} {
		imported, err := quiz.ReadBank(strings.NewReader(test.gift), "", quiz.FormatGIFT, defaultOptions)
		if err != nil {
			t.Errorf("%s: %v", test.gift, err)
			continue
		}
		var got string
		for _, q := range imported.Questions {
			got += strings.TrimPrefix(describe(0, q), fmt.Sprintf("0 %s en General medium: ", q.Kind))
		}
		for _, item := range imported.Skipped {
			got += item.Reason
		}
		if !strings.HasPrefix(got, test.want) && !strings.Contains(got, test.want) || strings.Contains(test.want, "|") && got != test.want {
			t.Errorf("%s: %s, want %s", test.gift, got, test.want)
		}
	}
}

func TestGIFTCategoryIsTheLastPartOfThePath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"Science":                    "Science",
		" $course$/top/Science ":     "Science",
		"$course$/top":               "General",
		"":                           "General",
		"Science/Physics and Maths/": "Physics and Maths",
		"$system$/top/TCP//IP":       "TCP/IP",
		"tom/$/x":                    "x",
	} {
		imported, err := quiz.ReadBank(strings.NewReader("$CATEGORY: "+path+"\nQ{T}"), "", quiz.FormatGIFT, defaultOptions)
		if err != nil || len(imported.Questions) != 1 || imported.Questions[0].Category != want {
			t.Errorf("%q: %+v, %v, want %q", path, imported, err, want)
		}
	}
}
