package quiz

import (
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
