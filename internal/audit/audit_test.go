package audit

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSanitizeTextReturnsShortValidLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"match=m_1":                "match=m_1",
		"Zoë 名":                    "Zoë 名",
		"a\nlevel=ERROR\x00\u0085": "a?level=ERROR??",
		"a\xff":                    "a?",
		strings.Repeat("名", 201):   strings.Repeat("名", 200) + "…",
	} {
		if got := SanitizeText(text); got != want || !utf8.ValidString(got) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
