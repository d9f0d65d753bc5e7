package testenv

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/docs"
)

// StorageRows returns the names in the first column of a section of docs/reference/storage.md.
func StorageRows(section string) []string {
	_, text, _ := strings.Cut(string(docs.Storage), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var names []string
	for line := range strings.Lines(text) {
		column, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(column, -1) {
			if strings.HasPrefix(line, "| ") {
				names = append(names, name[1])
			}
		}
	}
	return names
}

var (
	idPlaceholder = regexp.MustCompile(`[A-Z]+`)          // a word in capitals means an id in a listed key
	idInBraces    = regexp.MustCompile(`\\\{[^}]*[A-Z]+`) // in a quoted key
)

// listedKeys match the keys that docs/reference/storage.md lists. An id in braces may contain any
// character except a brace. Another id must not contain a colon either. Otherwise the row
// of a match would match every key that starts with the match id.
var listedKeys = func() (keys []*regexp.Regexp) {
	for _, name := range StorageRows("Keys in Redis") {
		key := idInBraces.ReplaceAllStringFunc(regexp.QuoteMeta(name), func(tag string) string {
			return idPlaceholder.ReplaceAllString(tag, "[^{}]+")
		})
		keys = append(keys, regexp.MustCompile("^"+idPlaceholder.ReplaceAllString(key, "[^:{}]+")+"$"))
	}
	return keys
}()

// KeysMissingInDocs returns the keys that docs/reference/storage.md does not list.
func KeysMissingInDocs(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		return slices.ContainsFunc(listedKeys, func(listed *regexp.Regexp) bool { return listed.MatchString(key) })
	})
}

// CheckListedKeys fails the test if Redis has keys that docs/reference/storage.md does not list. Data
// that stays after a request needs an owner, limits and an expiry.
func CheckListedKeys(t testing.TB, client redis.UniversalClient) {
	t.Helper()
	keys, err := client.Keys(context.Background(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range KeysMissingInDocs(keys) {
		t.Errorf("Redis holds the key %q, which docs/reference/storage.md does not list: add a row with its owner, bounds and end", key)
	}
}
