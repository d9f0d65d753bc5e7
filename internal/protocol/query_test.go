package protocol

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestReadQueryAllowsEachParameterOnceWithAValue(t *testing.T) {
	t.Parallel()
	for _, testCase := range []struct {
		path, query string
		params      []string
		want        url.Values
		refusal     string // "": none
	}{
		{"/a/b", "", nil, url.Values{}, ""},
		{"/a/b", "x=%C3%A4&y=1", []string{"x", "y"}, url.Values{"x": {"ä"}, "y": {"1"}}, ""},
		{"/a", "z=1", []string{"x", "y"}, nil, `"z"; this path takes x, y`},
		{"/a", "z=1", nil, nil, "takes none"},
		{"/a", "x=1&x=2", []string{"x"}, nil, `"x": give it once`},
		{"/a", "x=", []string{"x"}, nil, `"x": give it once`},
		{"/a", "x=%zz", []string{"x"}, nil, "escape it"},
		{"/a", "x=a%00", []string{"x"}, nil, `"x" has a character 0`},
		{"/a", "x=%ff", []string{"x"}, nil, "not UTF-8"},
		{"/a\x00", "", nil, nil, "the path"},
		{"/\xff", "", nil, nil, "the path"},
	} {
		got, err := ReadQuery(&url.URL{Path: testCase.path, RawQuery: testCase.query}, testCase.params)
		refusal, isRefusal := errors.AsType[*Error](err)
		switch {
		case testCase.refusal == "" && (err != nil || !reflect.DeepEqual(got, testCase.want)):
			t.Errorf("%s?%s: %v, %v", testCase.path, testCase.query, got, err)
		case testCase.refusal != "" && (!isRefusal || refusal.Code != CodeBadRequest || !strings.Contains(refusal.Message, testCase.refusal)):
			t.Errorf("%s?%s: %v, want %q", testCase.path, testCase.query, err, testCase.refusal)
		}
	}
}
