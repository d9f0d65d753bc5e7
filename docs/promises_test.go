package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testsOfFolder = regexp.MustCompile("([a-z0-9/]+): ((?:`[A-Za-z0-9]+`(?:, )?)+)")
	testName      = regexp.MustCompile("`([A-Za-z0-9]+)`")
)

// missingTests lists the tests that a row of promises.md names and that its folder does
// not have, as "folder: test". A row without any test is listed itself.
func missingTests(t *testing.T, row string) (missing []string) {
	t.Helper()
	folders := testsOfFolder.FindAllStringSubmatch(row, -1)
	if len(folders) == 0 {
		return []string{row}
	}
	for _, match := range folders {
		folder := match[1]
		if top, _, _ := strings.Cut(folder, "/"); top != "cmd" && top != "web" {
			folder = "internal/" + folder
		}
		code := testCode(t, filepath.Join("..", folder))
		for _, name := range testName.FindAllStringSubmatch(match[2], -1) {
			if !strings.Contains(code, "func "+name[1]+"(") {
				missing = append(missing, match[1]+": "+name[1])
			}
		}
	}
	return missing
}

// testCode returns the text of the test files of a folder, without its subfolders.
func testCode(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	return code.String()
}

func TestEveryPromiseHasItsTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("reference/promises.md")
	if err != nil {
		t.Fatal(err)
	}
	promises := 0
	for row := range strings.Lines(string(text)) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| promise ") || strings.HasPrefix(row, "| ---") {
			continue
		}
		promises++
		for _, missing := range missingTests(t, row) {
			t.Errorf("promises.md names a test that does not exist: %s", missing)
		}
	}
	if promises == 0 {
		t.Error("promises.md has no promises")
	}
	for _, sample := range []string{"| It works. | timer: `TestNobodyWrote` |", "| It works. | |"} {
		if len(missingTests(t, sample)) == 0 {
			t.Errorf("the sample row %q passes", sample)
		}
	}
}
