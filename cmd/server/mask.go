package main

import (
	"net/url"
	"regexp"
)

var (
	// userinfo ends, as in redisx and net/url, at the last @ before the path.
	passwordOfUser  = regexp.MustCompile(`(://[^:@/?]*):[^/?]*@`)
	passwordOfQuery = regexp.MustCompile(`([?&](?:ssl)?password=)[^&]*`)
)

// masked hides the passwords of an address that has been validated, also of
// one with several servers. What it gives is a valid address again.
func masked(address string) string {
	address = passwordOfUser.ReplaceAllString(address, "$1:xxxxx@")
	return passwordOfQuery.ReplaceAllString(address, "${1}xxxxx")
}

// masked hides the password of a sink's address and the values of its query,
// which are often secrets.
func (s sink) masked() sink {
	s.URL = masked(s.URL)
	u, err := url.Parse(s.URL)
	if err != nil || u.RawQuery == "" {
		return s
	}
	query := u.Query()
	for name := range query {
		query[name] = []string{"xxxxx"}
	}
	u.RawQuery = query.Encode()
	s.URL = u.String()
	return s
}
