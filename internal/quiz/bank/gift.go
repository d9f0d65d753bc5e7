package bank

import (
	"io"
	"slices"
	"strings"
)

// ReadGIFT reads Moodle's GIFT format. It imports these kinds:
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

// maxGIFTBlock limits the size of one question, in bytes. A valid question is
// much smaller.
const maxGIFTBlock = 64 << 10

// giftReader collects the lines of each question into a block. A blank line always
// ends a question. Comment lines are ignored.
type giftReader struct {
	in       *importer
	category string // of the next questions; "": the one of the options
	line     int    // number of the current line, from 1
	start    int    // number of the first line of the block
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

// endBlock adds the question of the block, or skips it, and starts a new block.
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

// giftCategory returns the last name in a path such as
// $course$/top/Science/Rivers//Lakes, here "Rivers/Lakes": // is a slash in a name.
// It ignores "top" and parts between dollar signs.
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
