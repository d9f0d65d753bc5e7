package quiz

import (
	"errors"
	"html"
	"regexp"
	"slices"
	"strings"
)

// readGIFT reads Moodle's GIFT format. It imports these kinds:
//
//   - single choice (=right ~wrong)
//   - multiple choice by weights (~%50%right ~%-100%wrong)
//   - true or false ({T})
//   - short answers ({=one =another}) as kind text, without answers that are
//     partly right or contain the wildcard *
//   - numbers ({#1969:2}, {#1..5})
//   - missing words ("text {…} text", shown as _____)
//
// General feedback (####) becomes the explanation. Titles, comments and other
// feedback are dropped. HTML becomes plain text. The last part of a $CATEGORY
// path is the category and overrides the one of the options.
//
// It skips questions that ask to match pairs, essays, descriptions, and questions
// with pictures. It also skips single choice questions with several right choices
// or with choices that are partly right.
func (imp *importer) readGIFT(data []byte) error {
	reader := giftReader{importer: imp}
	for line := range strings.Lines(string(data)) {
		reader.line++
		reader.readLine(strings.TrimSpace(line))
	}
	reader.endBlock()
	return nil
}

// maxGIFTBlockBytes limits the size of one question, in bytes. A valid question is
// much smaller.
const maxGIFTBlockBytes = 64 << 10

// giftReader collects the lines of each question into a block. A blank line always
// ends a question. Comment lines are ignored.
type giftReader struct {
	importer   *importer
	category   string // of the next questions; "": the one of the options
	line       int    // number of the current line, from 1
	blockStart int    // number of the first line of the block
	blockLines []string
}

func (g *giftReader) readLine(line string) {
	const category = "$CATEGORY:"
	switch {
	case line == "":
		g.endBlock()
	case strings.HasPrefix(line, "//"):
	case len(g.blockLines) == 0 && strings.HasPrefix(line, category):
		g.category = lastGIFTCategory(line[len(category):])
	default:
		if len(g.blockLines) == 0 {
			g.blockStart = g.line
		}
		g.blockLines = append(g.blockLines, line)
	}
}

// endBlock adds the question of the block, or skips it, and starts a new block.
func (g *giftReader) endBlock() {
	text := strings.Join(g.blockLines, "\n")
	g.blockLines = g.blockLines[:0]
	switch {
	case text == "":
	case len(text) > maxGIFTBlockBytes:
		g.importer.skipItem(g.blockStart, text, "it is longer than any question: put a blank line between questions")
	default:
		q, err := parseGIFTQuestion(text, g.importer.options.Lang)
		q.Category = g.category
		g.importer.addItem(g.blockStart, text, q, err)
	}
}

// lastGIFTCategory returns the last name in a path such as
// $course$/top/Science/Rivers//Lakes, here "Rivers/Lakes": // is a slash in a name.
// It ignores "top" and parts between dollar signs.
func lastGIFTCategory(path string) string {
	const slash = "\x00"
	parts := strings.Split(strings.ReplaceAll(path, "//", slash), "/")
	for _, part := range slices.Backward(parts) {
		name := strings.TrimSpace(strings.ReplaceAll(part, slash, "/"))
		isContext := len(name) > 1 && name[0] == '$' && name[len(name)-1] == '$'
		if name != "" && name != "top" && !isContext {
			return unescapeGIFT(name)
		}
	}
	return ""
}

type giftFormat string

// The formats in which texts may have HTML.
const (
	giftMoodle giftFormat = "moodle" // default for texts without a format: HTML allowed, lines kept
	giftHTML   giftFormat = "html"
)

var giftFormatPattern = regexp.MustCompile(`^\s*\[(?i:(html|moodle|plain|markdown))\]`)

// cutGIFTFormat removes a format tag such as [html] from the start of a text.
// Without a tag, it returns the inherited format.
func cutGIFTFormat(text string, inherited giftFormat) (giftFormat, string) {
	match := giftFormatPattern.FindStringSubmatch(text)
	if match == nil {
		return inherited, text
	}
	return giftFormat(strings.ToLower(match[1])), text[len(match[0]):]
}

// indexUnescaped returns the index of the first of some marks that is not escaped by a
// backslash, or -1.
func indexUnescaped(s string, marks ...string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(s[i:], mark) }) {
			return i
		}
	}
	return -1
}

// cutUnescaped is like strings.Cut, but ignores marks that are escaped by a backslash.
func cutUnescaped(s, mark string) (before, after string, found bool) {
	if i := indexUnescaped(s, mark); i >= 0 {
		return s[:i], s[i+len(mark):], true
	}
	return s, "", false
}

var giftUnescaper = strings.NewReplacer(
	`\\`, `\`, `\~`, `~`, `\=`, `=`, `\#`, `#`, `\{`, `{`, `\}`, `}`, `\:`, `:`, `\n`, "\n",
)

func unescapeGIFT(s string) string { return giftUnescaper.Replace(s) }

var (
	giftMediaPattern       = regexp.MustCompile(`(?i)<(?:img|audio|video|object|iframe|embed|svg)[\s>]|@@PLUGINFILE@@|!\[[^\]]*\]\(`)
	htmlNewlinePattern     = regexp.MustCompile(`(?i)<br\s*/?>|</(?:p|div|li|tr|h[1-6])>`)
	htmlSuperscriptPattern = regexp.MustCompile(`(?i)<sup>\s*([^<>]*?)\s*</sup>`)
	// Only known elements with well-formed attributes, so that a<b and c>d
	// stays.
	htmlTagPattern = regexp.MustCompile(`(?i)</?(?:p|br|hr|div|span|b|i|u|s|a|em|strong|small|big|sub|sup|ul|ol|li|dl|dt|dd|` +
		`table|thead|tbody|tr|td|th|caption|pre|code|tt|h[1-6]|font|center|blockquote|strike|del|ins|mark|q|cite|label)` +
		`(?:\s+[a-z-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=]+))*\s*/?>|<!--.*?-->`)
)

// plainGIFTText converts a text of the file, with or without a format tag, to plain text.
func plainGIFTText(raw string, inherited giftFormat) (string, error) {
	format, text := cutGIFTFormat(raw, inherited)
	text = unescapeGIFT(text)
	if giftMediaPattern.MatchString(text) {
		return "", errors.New("it needs a picture or a file, which is not supported")
	}
	if format == giftHTML {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	if format == giftHTML || format == giftMoodle {
		text = htmlNewlinePattern.ReplaceAllString(text, "\n")
		text = htmlSuperscriptPattern.ReplaceAllStringFunc(text, plainSuperscript)
		text = html.UnescapeString(htmlTagPattern.ReplaceAllString(text, ""))
	}
	return tidyLines(text), nil
}

var (
	superscriptReplacer = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
		"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "+", "⁺", "-", "⁻", "−", "⁻")
	ordinalSuffixes = []string{"", "st", "nd", "rd", "th", "er", "re", "e", "o", "a"}
)

// plainSuperscript converts an element <sup>…</sup> to plain text: 10<sup>2</sup> becomes
// 10², not 102.
func plainSuperscript(element string) string {
	superscript := htmlSuperscriptPattern.FindStringSubmatch(element)[1]
	switch {
	case slices.Contains(ordinalSuffixes, strings.ToLower(superscript)):
		return superscript
	case strings.Trim(superscript, "0123456789+-−") == "":
		return superscriptReplacer.Replace(superscript)
	}
	return "^" + superscript
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
