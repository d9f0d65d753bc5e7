package protocol

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReadQuery parses the query of an HTTP request. params are the allowed parameters. Each
// may occur at most once and must have a value. ReadQuery returns an *Error (bad_request)
// for any other query. It also refuses a value or path that PostgreSQL cannot store as
// text.
func ReadQuery(requestURL *url.URL, params []string) (url.Values, error) {
	if !isPostgresText(requestURL.Path) {
		return nil, Errorf(CodeBadRequest, "the path has a character 0 or is not UTF-8")
	}
	query, err := url.ParseQuery(requestURL.RawQuery)
	if err != nil {
		return nil, Errorf(CodeBadRequest, "the query cannot be read: escape it as in name=value&name=value")
	}
	for name, values := range query {
		switch {
		case !slices.Contains(params, name):
			return nil, Errorf(CodeBadRequest, "unknown query parameter %q; this path takes %s", shorten(name), cmp.Or(strings.Join(params, ", "), "none"))
		case len(values) != 1 || values[0] == "":
			return nil, Errorf(CodeBadRequest, "query parameter %q: give it once, with a value", name)
		case !isPostgresText(values[0]):
			return nil, Errorf(CodeBadRequest, "query parameter %q has a character 0 or is not UTF-8", name)
		}
	}
	return query, nil
}

// isPostgresText returns true if PostgreSQL accepts s as a text value: valid UTF-8 without
// the character 0.
func isPostgresText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}
