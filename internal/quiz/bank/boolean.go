package bank

import "golang.org/x/text/language"

// booleanChoices has by language the two choices of boolean questions, for inputs
// that do not name the choices. The first choice means true.
var booleanChoices = map[string][2]string{
	"de": {"Richtig", "Falsch"},
	"en": {"True", "False"},
	"es": {"Verdadero", "Falso"},
	"fr": {"Vrai", "Faux"},
	"it": {"Vero", "Falso"},
	"ja": {"正しい", "誤り"},
	"ko": {"참", "거짓"},
	"pt": {"Verdadeiro", "Falso"},
	"ru": {"Верно", "Неверно"},
	"zh": {"对", "错"},
}

// booleanChoicesIn returns the choices for true and false in a language. It uses
// English if the language is unknown.
func booleanChoicesIn(lang string) []string {
	tag, err := language.Parse(lang)
	if err != nil {
		tag = language.English
	}
	base, _ := tag.Base()
	if script, _ := tag.Script(); base.String() == "zh" && script.String() == "Hant" {
		return []string{"對", "錯"}
	}
	words, known := booleanChoices[base.String()]
	if !known {
		words = booleanChoices["en"]
	}
	return words[:]
}
