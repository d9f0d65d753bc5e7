package main

import (
	"net/url"
	"regexp"
)

var (
	// The userinfo ends at the last @ before the path, as in redisx and net/url.
	passwordOfUser  = regexp.MustCompile(`(://[^:@/?]*):[^/?]*@`)
	passwordOfQuery = regexp.MustCompile(`([?&](?:ssl)?password=)[^&]*`)
)

// maskPasswords hides the passwords in a valid address, which may name several servers. The
// result is a valid address again.
func maskPasswords(address string) string {
	address = passwordOfUser.ReplaceAllString(address, "$1:xxxxx@")
	return passwordOfQuery.ReplaceAllString(address, "${1}xxxxx")
}

// maskURL also hides the values of the query, because receivers often have secrets there.
func maskURL(address string) string {
	address = maskPasswords(address)
	u, err := url.Parse(address)
	if err != nil || u.RawQuery == "" {
		return address
	}
	query := u.Query()
	for name := range query {
		query[name] = []string{"xxxxx"}
	}
	u.RawQuery = query.Encode()
	return u.String()
}
