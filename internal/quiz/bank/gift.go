package bank

import (
	"io"
	"slices"
	"strings"
)

// ReadGIFT reads Moodle's GIFT format. Taken are single choice (=right ~wrong),
// multiple choice by weights (~%50%right ~%-100%wrong), true or false ({T}),
// short answers ({=one =another}: kind text, without answers that are only partly
// right or use the wildcard *), numbers ({#1969:2}, {#1..5}) and missing words
// ("text {…} text", shown as _____). General feedback (####) becomes the
// explanation; titles, comments and other feedback are dropped; HTML is turned
// into plain text. The last part of a $CATEGORY path is the category, it goes
// before o's. Skipped are matching, essays, descriptions, pictures, several
// right answers of which one would be enough, and choices that are partly right.
func ReadGIFT(r io.Reader, o Options) (Import, error) {
	data, err := readAll(r)
	if err != nil {
		return Import{}, err
	}
	g := giftReader{in: newImporter(o)}
	for line := range strings.Lines(string(data)) {
		g.line++
		if err := g.read(strings.TrimSpace(line)); err != nil {
			return Import{}, err
		}
	}
	if err := g.endBlock(); err != nil {
		return Import{}, err
	}
	return g.in.Import, nil
}

// maxGIFTBlock bounds what is looked at as one question, in bytes; a sound one
// stays far below.
const maxGIFTBlock = 64 << 10

// A giftReader gathers lines to blocks: a blank line ends a question, whatever
// is open; comment lines are as if they were not there.
type giftReader struct {
	in       *importer
	category string
	line     int
	start    int // the line that the block begins on
	block    []string
}

func (g *giftReader) read(line string) error {
	const category = "$CATEGORY:"
	switch {
	case line == "":
		return g.endBlock()
	case strings.HasPrefix(line, "//"):
	case len(g.block) == 0 && strings.HasPrefix(line, category):
		g.category = giftCategory(line[len(category):])
	default:
		if len(g.block) == 0 {
			g.start = g.line
		}
		g.block = append(g.block, line)
	}
	return nil
}

func (g *giftReader) endBlock() error {
	if len(g.block) == 0 {
		return nil
	}
	text := strings.Join(g.block, "\n")
	g.block = g.block[:0]
	if len(text) > maxGIFTBlock {
		return g.in.skip(g.start, text, "it is longer than any question: put a blank line between questions")
	}
	lang := g.in.options.Lang
	q, err := giftQuestion(text, lang)
	if err != nil {
		return g.in.skip(g.start, text, err.Error())
	}
	q.Category = g.category
	return g.in.add(g.start, q)
}

// giftCategory returns the last part of a path such as
// $course$/top/Science/Rivers//Lakes, in which // is a slash in a name.
func giftCategory(path string) string {
	const slash = "\x00"
	parts := strings.Split(strings.ReplaceAll(path, "//", slash), "/")
	for _, part := range slices.Backward(parts) {
		name := strings.TrimSpace(strings.ReplaceAll(part, slash, "/"))
		isContext := len(name) > 1 && name[0] == '$' && name[len(name)-1] == '$'
		if name != "" && name != "top" && !isContext {
			return giftUnescape(name)
		}
	}
	return ""
}
