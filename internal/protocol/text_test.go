package protocol

import "testing"

func FuzzAppendJSONText(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "Brave Otter 1234", "é 日本語 \U0001f600", `quote " and \ slash`, "\x00\b\t\n\f\r\x1f\x7f", "<&>", "\u2028\u2029",
		"\xff torn \xe6\x97", "12345678\"", "1234567\\9", "seven b\xc3",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := string(AppendJSONText([]byte("before"), text)), "before"+string(EncodeJSON(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	})
}
