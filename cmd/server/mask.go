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

// maskPasswords hides the passwords of an address that has been validated, also of
// one with several servers. What it gives is a valid address again.
func maskPasswords(address string) string {
	address = passwordOfUser.ReplaceAllString(address, "$1:xxxxx@")
	return passwordOfQuery.ReplaceAllString(address, "${1}xxxxx")
}

// maskURL hides also the values of the query, which at receivers are often
// secrets.
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
