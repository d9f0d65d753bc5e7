package bank

import (
	"errors"
	"html"
	"regexp"
	"slices"
	"strings"
)

// giftFormat is the markup of a text.
type giftFormat string

const (
	giftMoodle   giftFormat = "moodle" // default for texts without a format: HTML allowed, lines kept
	giftHTML     giftFormat = "html"
	giftPlain    giftFormat = "plain"
	giftMarkdown giftFormat = "markdown"
)

var giftFormatTag = regexp.MustCompile(`^\s*\[(?i:(html|moodle|plain|markdown))\]`)

// cutGIFTFormat removes a format tag such as [html] from the start of a text.
// Without a tag, it returns the inherited format.
func cutGIFTFormat(text string, inherited giftFormat) (giftFormat, string) {
	m := giftFormatTag.FindStringSubmatch(text)
	if m == nil {
		return inherited, text
	}
	return giftFormat(strings.ToLower(m[1])), text[len(m[0]):]
}

// giftIndexAny returns the index of the first of some ASCII characters that is
// not escaped by a backslash, or -1.
func giftIndexAny(s, chars string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if strings.IndexByte(chars, s[i]) >= 0 {
			return i
		}
	}
	return -1
}

// giftIndex returns the index of the first mark that is not escaped by a
// backslash, or -1.
func giftIndex(s, mark string) int {
	for from := 0; ; from++ {
		i := giftIndexAny(s[from:], mark[:1])
		if i < 0 {
			return -1
		}
		from += i
		if strings.HasPrefix(s[from:], mark) {
			return from
		}
	}
}

// giftCut is like strings.Cut, but ignores marks that are escaped by a backslash.
func giftCut(s, mark string) (before, after string, found bool) {
	if i := giftIndex(s, mark); i >= 0 {
		return s[:i], s[i+len(mark):], true
	}
	return s, "", false
}

var giftEscapes = strings.NewReplacer(
	`\\`, `\`, `\~`, `~`, `\=`, `=`, `\#`, `#`, `\{`, `{`, `\}`, `}`, `\:`, `:`, `\n`, "\n",
)

func giftUnescape(s string) string { return giftEscapes.Replace(s) }

var (
	giftPicture = regexp.MustCompile(`(?i)<(?:img|audio|video|object|iframe|embed|svg)[\s>]|@@PLUGINFILE@@|!\[[^\]]*\]\(`)
	htmlNewline = regexp.MustCompile(`(?i)<br\s*/?>|</(?:p|div|li|tr|h[1-6])>`)
	htmlPower   = regexp.MustCompile(`(?i)<sup>\s*([^<>]*?)\s*</sup>`)
	// Only known elements with well-formed attributes, so that a<b and c>d
	// stays.
	htmlTag = regexp.MustCompile(`(?i)</?(?:p|br|hr|div|span|b|i|u|s|a|em|strong|small|big|sub|sup|ul|ol|li|dl|dt|dd|` +
		`table|thead|tbody|tr|td|th|caption|pre|code|tt|h[1-6]|font|center|blockquote|strike|del|ins|mark|q|cite|label)` +
		`(?:\s+[a-z-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=]+))*\s*/?>|<!--.*?-->`)
)

// giftText converts a text of the file to plain text.
func giftText(raw string, format giftFormat) (string, error) {
	text := giftUnescape(raw)
	if giftPicture.MatchString(text) {
		return "", errors.New("it needs a picture or a file, which is not supported")
	}
	if format == giftHTML {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	if format == giftHTML || format == giftMoodle {
		text = htmlNewline.ReplaceAllString(text, "\n")
		text = htmlPower.ReplaceAllStringFunc(text, plainPower)
		text = html.UnescapeString(htmlTag.ReplaceAllString(text, ""))
	}
	return tidyLines(text), nil
}

var (
	superscripts = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
		"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "+", "⁺", "-", "⁻", "−", "⁻")
	ordinals = []string{"", "st", "nd", "rd", "th", "er", "re", "e", "o", "a"}
)

// plainPower converts an element <sup>…</sup> to plain text: 10<sup>2</sup> becomes
// 10², not 102.
func plainPower(element string) string {
	power := htmlPower.FindStringSubmatch(element)[1]
	switch {
	case slices.Contains(ordinals, strings.ToLower(power)):
		return power
	case strings.Trim(power, "0123456789+-−") == "":
		return superscripts.Replace(power)
	}
	return "^" + power
}

// tidyLines trims a text and its lines and drops the empty ones.
func tidyLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
