package arena

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/identity"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
)

// All players see the names of arenas and teams. The names must be readable
// lines without words that the game refuses. Words reserved for staff are
// allowed.
func TestNamesOfArenasAndTeamsAreChecked(t *testing.T) {
	t.Parallel()
	words, err := nickname.NewWords(nickname.WordsConfig{Lists: nickname.BuiltinLists(), Custom: []nickname.WordList{{Name: "own", Text: "admin\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	for title, wantInMessage := range map[string]string{
		"Quiz Night 2026: R&D vs. Sales — final!": "", "Ｎａｃｈｔ": "", "家庭 👨‍👩‍👧 日": "", "❤️ & 1️⃣": "", "می\u200cخواهم": "", "Nguyễn": "", "??": "",
		"Support": "", "Official Finals": "", "客服部": "", "Moby Dick": "", "失去死党": "",
		"a\u202eb": "turns the direction", "\u2066abc\u2069": "turns the direction", "a\u200eb": "turns the direction",
		"a\u200bb": "invisible", "a\u00adb": "invisible", "\ufe0fab": "invisible", "a\u200d": "invisible", "a \u200db": "invisible",
		"a\ufe0f\ufe0f": "invisible", "ㅤ": "shows nothing", "\u2800\u2800": "shows nothing", "\u0301": "shows nothing",
		"a\u0007b": "control", "a\u2028b": "control", "a\ue000b": "private", "a\u0378b": "not assigned", "a\ufffdb": "damaged",
		"Z" + strings.Repeat("\u0301", 5) + "algo": "accents", "\t \u3000": "shows nothing",
		"Fuck Cup": "does not allow", "f\u200duck": "does not allow", "F u c k": "does not allow", "$h1t happens": "does not allow", "大笨蛋队": "does not allow",
		"4dm1n": "does not allow", // the game's list of refused words also contains it
	} {
		for _, field := range []string{"name", "teams[1].name"} {
			test := newArenaTest(t)
			settings := test.Games["demo"]
			settings.Words = words
			test.Games["demo"] = settings
			body := newArenaBody()
			if body.Name = title; field != "name" {
				body.Name, body.Teams[1].Name = "Cup", title
			}
			_, err := test.Create(t.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: body})
			if wantInMessage == "" {
				if err != nil {
					t.Errorf("%q as %s: %v", title, field, err)
				}
				continue
			}
			refused := test.checkRefused(err, protocol.CodeBadRequest)
			if !strings.HasPrefix(refused.Message, field+" is ") || !strings.Contains(refused.Message, wantInMessage) {
				t.Errorf("%+q as %s: %q, want %q", title, field, refused.Message, wantInMessage)
			}
			if n := testutil.ToFloat64(test.metrics.creations.WithLabelValues("bad_request")); n != 1 {
				t.Errorf("%+q: counted %v times", title, n)
			}
		}
	}
}
