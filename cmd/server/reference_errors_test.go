package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"laststand/internal/httpserver"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// errorCode is a code of the contract with the texts of its comment.
type errorCode struct{ value, when, client string }

// errorsReference returns the text of docs/reference/errors.md.
func errorsReference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Errors\n\n" + generatedNotice + "\n## Error codes\n\n" +
		"The field `code` of an HTTP answer of the type `application/problem+json`, and of the data of a websocket message of the type `error`. " +
		"A code with the status - occurs on websockets only.\n\n")
	b.WriteString(tableRow("code", "status", "when", "the client should") + tableRow("---", "---", "---", "---"))
	statuses := httpserver.Statuses()
	for _, c := range errorCodes(t, "Code") {
		status := "-"
		if n, ok := statuses[protocol.Code(c.value)]; ok {
			status = strconv.Itoa(n)
		}
		b.WriteString(tableRow(codeText(c.value), status, c.when, c.client))
	}
	b.WriteString("\n## Close codes of the websocket\n\n" + tableRow("code", "when", "the client should") + tableRow("---", "---", "---"))
	for _, c := range errorCodes(t, "Close") {
		b.WriteString(tableRow(c.value, c.when, c.client))
	}
	return b.String()
}

// errorCodes are the constants of the protocol whose names begin with the prefix, in the order
// of the source.
func errorCodes(t *testing.T, prefix string) (codes []errorCode) {
	t.Helper()
	file := testenv.Need(parser.ParseFile(token.NewFileSet(), "../../internal/protocol/code.go", nil, parser.ParseComments))(t)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		text := spec.Values[0].(*ast.BasicLit).Value
		when, client, ok := strings.Cut(plainText(spec.Doc.Text()), " Client: ")
		if !ok {
			t.Errorf("the comment of %s does not say what the client should do", spec.Names[0].Name)
		}
		codes = append(codes, errorCode{strings.Trim(text, `"`), when, client})
		return true
	})
	return codes
}
