package web

import (
	"os/exec"
	"testing"

	"laststand/internal/testenv"
)

// The tests of the page's modules pass. They run in Node, as they do with `npm test`.
func TestModules(t *testing.T) {
	t.Parallel()
	node, ok := testenv.Interpreter(t, "node")
	if !ok {
		return
	}
	npmTest := exec.CommandContext(t.Context(), node, "--test", "test/")
	if output, err := npmTest.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
