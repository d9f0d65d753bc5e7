package nickname_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/nickname"
)

// wordsFrom returns the words of all built-in lists, a custom list and allowed words.
func wordsFrom(t *testing.T, customWords string, allow ...string) *nickname.Words {
	t.Helper()
	words, err := nickname.NewWords(nickname.WordsConfig{
		Lists: nickname.BuiltinLists(), Custom: []nickname.WordList{{Name: "own.txt", Text: customWords}}, Allow: allow,
	})
	if err != nil {
		t.Fatal(err)
	}
	return words
}

func TestRefuseFindsRefusedWords(t *testing.T) {
	t.Parallel()
	words := wordsFrom(t, "\ufeff# ours\r\nTroll # a comment\n*zonk*\nナマズ\nred team\n")
	const staffReason, wordReason = "reserved for those who run the game", "does not allow"
	for raw, reason := range map[string]string{
		"Admin": staffReason, "ADMIN": staffReason, "ａｄｍｉｎ": staffReason, "аdmіn": staffReason, "Ádmín": staffReason, "4dm1n": staffReason, "@dm!n": staffReason, "adm|n": staffReason,
		"a.d.m.i.n": staffReason, "a d m i n": staffReason, "ad-min": staffReason, "x a.d.m.i.n x": staffReason, "Admin007": staffReason, "007Admin!": staffReason,
		"Bob the Admin": staffReason, "BobAdmin": staffReason, "bob_admin": staffReason, "AdminBob": staffReason, "adminnnn": staffReason, "Game-Master": staffReason,
		"Customer Service": staffReason, "Mode rator": staffReason, "MODERATOR Bob": staffReason, "ＯＦＦＩＣＩＡＬ": staffReason, "Official 小明": staffReason,
		"管理员": staffReason, "小管理员": staffReason, "管.理.员 a": staffReason, "我是官方1号": staffReason, "客服小美": staffReason, "官 方": staffReason,
		"Dick": "", "Dickhead": wordReason, "a55hole": wordReason, "$hit": wordReason, "fuuuuuck": wordReason, "refuckx": wordReason, "白痴啊": wordReason, "大笨蛋": wordReason,
		"TROLL": wordReason, "trollo": "", "gezonkt": wordReason, "z0nk": wordReason, "小ナマズ": wordReason, "Red Team": wordReason, "redteam": wordReason,
		// Refused words that appear inside other words by chance.
		"Scunthorpe": "", "Badminton": "", "Assassin": "", "Penistone": "", "Cockburn": "", "Classic": "", "Dickens": "", "Hancock": "",
		"Systematic": "", "Staffordshire": "", "Bassist": "", "Mishit": "", "Ada": "", "小明": "", "妈妈的宝贝": "", "奶奶和媽媽的": "", "体操你好": "", "1455": "", "Adm Inge": "", "HTTPServer": "",
	} {
		name, err := nickname.Parse(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		err = words.Refuse(name)
		if reason == "" {
			if err != nil {
				t.Errorf("%q is refused: %v", raw, err)
			}
			continue
		}
		wantReason := nickname.BlockedWord
		if reason == staffReason {
			wantReason = nickname.ReservedWord
		}
		if !errors.Is(err, nickname.ErrInvalid) || !errors.Is(err, nickname.ErrWord) || !strings.HasSuffix(err.Error(), reason) || nickname.Reason(err) != wantReason {
			t.Errorf("Refuse(%q) = %v (%s), want a reason with %q", raw, err, nickname.Reason(err), reason)
		}
	}
}

func TestAllowedWordsAreNotRefused(t *testing.T) {
	t.Parallel()
	words := wordsFrom(t, "+big jerk\n+大傻瓜蛋\nh88\n", "Crap", "官方小说", "Staff Room", "H88", "A55")
	for raw, isAllowed := range map[string]bool{
		"Crap": true, "CR4P": true, "Bullshit": false, "官方小说": true, "小官方小说": true, "官方小说官方": false,
		"Staff Room": true, "Staff Rooms": false, "Staff": false, "H88": true, "A55": true, "Ass": false, "Big Jerk": true, "Big Jerks": true, "Big Fat Jerk": false, "Jerk": false,
		"小大傻瓜蛋": true, "大傻瓜": false,
	} {
		name, err := nickname.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := words.Refuse(name); (err == nil) != isAllowed {
			t.Errorf("Refuse(%q) = %v", raw, err)
		}
	}
}

func TestEmptyWordsRefuseNothing(t *testing.T) {
	t.Parallel()
	empty, err := nickname.NewWords(nickname.WordsConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []*nickname.Words{nil, empty} {
		if err := words.Refuse(nickname.Name{Display: "admin", Skeleton: "adrnln"}); err != nil {
			t.Error(err)
		}
	}
}

// One error reports all errors in the lists, with their lines.
func TestNewWordsReportsAllErrorsWithLines(t *testing.T) {
	t.Parallel()
	_, err := nickname.NewWords(nickname.WordsConfig{
		Lists: []string{"en", "fr"},
		Custom: []nickname.WordList{
			{Name: "own.txt", Text: "fine\n\na\n*half\nha*lf\n  # nothing\n--\n" + strings.Repeat("x", 65) + "\n字\n"},
			{Name: "latin.txt", Text: "caf\xe9"},
			{Name: "long.txt", Text: strings.Repeat("!\n", 50)},
			{Name: "huge.txt", Text: strings.Repeat("word\n", 20_001)},
			{Name: "fine.txt", Text: "+\n" + strings.Repeat("+word\n", 1000)},
		},
		Allow: []string{"fine", "*"},
	})
	if err == nil {
		t.Fatal("NewWords accepted invalid lists")
	}
	for _, want := range []string{
		`blocklists: "fr" is unknown; use [staff_en staff_zh en zh]`, "own.txt: line 3: it needs at least 2", "own.txt: line 4: a word must have a star", "own.txt: line 5: a star",
		"own.txt: line 7: it needs", "own.txt: line 8: it is too long", "own.txt: line 9: it needs", "latin.txt: it is not UTF-8",
		"long.txt: line 20: too many errors", "huge.txt: line 20001: a list has at most", "fine.txt: line 1: it needs", "fine.txt: line 1001: a list has at most", `allowed_words: "*": `,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q", want)
		}
	}
	if strings.Contains(err.Error(), "long.txt: line 21") || t.Failed() {
		t.Errorf("the error is\n%v", err)
	}
}

// A refused word is found in any disguise.
func TestDisguisedWordsAreRefused(t *testing.T) {
	t.Parallel()
	words := wordsFrom(t, "")
	disguises := map[rune][]string{
		'a': {"a", "A", "а", "4", "@", "á", "ａ"}, 'd': {"d", "D", "ԁ", "ｄ"}, 'm': {"m", "M", "М"}, 'i': {"i", "I", "1", "l", "!", "і", "|"}, 'n': {"n", "N", "Ν", "ñ"},
	}
	rapid.Check(t, func(t *rapid.T) {
		var builder strings.Builder
		separator := rapid.SampledFrom([]string{"", "", ".", " ", "_"}).Draw(t, "separator")
		builder.WriteString(rapid.SampledFrom([]string{"", "7", "Bob ", "bob."}).Draw(t, "before"))
		for i, letter := range "admin" {
			if i > 0 {
				builder.WriteString(separator)
			}
			builder.WriteString(rapid.SampledFrom(disguises[letter]).Draw(t, "letter"))
		}
		builder.WriteString(rapid.SampledFrom([]string{"", "99", "!", " Bob"}).Draw(t, "after"))
		name, err := nickname.Parse(builder.String())
		if err != nil {
			t.Skip("not a name")
		}
		if err := words.Refuse(name); !errors.Is(err, nickname.ErrWord) {
			t.Fatalf("%q is not refused", name.Display)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, raw := range []string{"Ada Lovelace", "Аdа", "Ａｄａ９", "勇敢小明"} {
		b.Run(raw, func(b *testing.B) {
			for b.Loop() {
				if _, err := nickname.Parse(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRefuse(b *testing.B) {
	listText := &strings.Builder{}
	for i := range 20_000 {
		fmt.Fprintf(listText, "word%dx\n", i)
	}
	words, err := nickname.NewWords(nickname.WordsConfig{Lists: nickname.BuiltinLists(), Custom: []nickname.WordList{{Name: "own", Text: listText.String()}}})
	if err != nil {
		b.Fatal(err)
	}
	for _, raw := range []string{"Ada Lovelace", "勇敢小明"} {
		name, err := nickname.Parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(raw, func(b *testing.B) {
			for b.Loop() {
				if err := words.Refuse(name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
