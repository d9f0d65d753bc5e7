package redisx

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestURLsAreParsed(t *testing.T) {
	t.Parallel()
	tests := map[string]address{
		"":                                {kind: KindEmbedded},
		"redis://h":                       {kind: KindSingle, hosts: []string{"h:6379"}},
		"redis://h:1/2":                   {kind: KindSingle, hosts: []string{"h:1"}, db: 2},
		"redis://[::1]:7":                 {kind: KindSingle, hosts: []string{"[::1]:7"}},
		"redis://[::1]":                   {kind: KindSingle, hosts: []string{"[::1]:6379"}},
		"rediss://u:p%40x@h:1":            {kind: KindSingle, hosts: []string{"h:1"}, tls: true, username: "u", password: "p@x"},
		"redis://:p@h":                    {kind: KindSingle, hosts: []string{"h:6379"}, password: "p"},
		"redis://a:1,b:2":                 {kind: KindCluster, hosts: []string{"a:1", "b:2"}},
		"redis://a:1,redis://b:2":         {kind: KindCluster, hosts: []string{"a:1", "b:2"}},
		"redis://u:p@a:1, b":              {kind: KindCluster, hosts: []string{"a:1", "b:6379"}, username: "u", password: "p"},
		"rediss://a:1?cluster=true":       {kind: KindCluster, hosts: []string{"a:1"}, tls: true},
		"redis://a:1/0?cluster=true":      {kind: KindCluster, hosts: []string{"a:1"}},
		"redis+sentinel://a,b:2/main":     {kind: KindSentinel, hosts: []string{"a:26379", "b:2"}, master: "main"},
		"redis+sentinel://u:p@a:2/main/3": {kind: KindSentinel, hosts: []string{"a:2"}, master: "main", db: 3, username: "u", password: "p"},
	}
	for url, want := range tests {
		got, err := parseURL(url)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("parseURL(%q) = %+v, %v, want %+v", url, got, err, want)
		}
	}
}

func TestValidateSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"localhost:6379":              "redis://host:port",
		"http://h":                    "redis://, rediss:// or redis+sentinel://",
		"redis://":                    "host:port",
		"redis://a,,b":                "host:port",
		"redis://a b":                 "host:port",
		"redis://h:0":                 "between 1 and 65535",
		"redis://h:65536":             "between 1 and 65535",
		"redis://h:x":                 "host:port",
		"redis://h/x":                 "number of a database",
		"redis://h/-1":                "number of a database",
		"redis://h/1/2":               "number of a database",
		"redis://a,b/1":               "only database 0",
		"redis://h?cluster=yes":       "cluster=true",
		"redis://:p@a,redis://u:p@b":  "write them once",
		"redis://h?db=1":              `"db"`,
		"redis://h?a=%zz":             "does not parse",
		"redis+sentinel://h":          "name of the master",
		"redis+sentinel://h/m?x=1":    "no options",
		"redis://user:se%zzcret@h":    "%XX",
		"redis://user:secret@h:99999": "between 1 and 65535",
		"redis://user:sec/ret@h:1":    "%XX",
	}
	for url, want := range tests {
		err := Validate(url)
		if !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate(%q) = %v, want an ErrAddress with %q", url, err, want)
			continue
		}
		if strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "sec") {
			t.Errorf("Validate(%q) shows the password: %v", url, err)
		}
	}
}

func FuzzValidate(f *testing.F) {
	for _, seed := range []string{"", "redis://u:p@h:1/2", "redis://a,b?cluster=true", "redis+sentinel://a:1,b/m/0", "rediss://[::1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		parsed, err := parseURL(url)
		if err != nil {
			return
		}
		if parsed.kind == "" || (parsed.kind != KindEmbedded) != (len(parsed.hosts) > 0) {
			t.Errorf("parseURL(%q) = %+v", url, parsed)
		}
		clientOptions(parsed) // must not panic
	})
}
