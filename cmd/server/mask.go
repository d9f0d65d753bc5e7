package main

import (
	"net/url"
	"regexp"
)

var (
	// The userinfo ends at the last @ before the path, as in redisx and net/url.
	userPassword  = regexp.MustCompile(`(://[^:@/?]*):[^/?]*@`)
	queryPassword = regexp.MustCompile(`([?&](?:ssl)?password=)[^&]*`)
)

// maskPasswords replaces the passwords in a valid URL by xxxxx. The URL may name several
// servers. The result is a valid URL.
func maskPasswords(address string) string {
	address = userPassword.ReplaceAllString(address, "$1:xxxxx@")
	return queryPassword.ReplaceAllString(address, "${1}xxxxx")
}

// maskURL is maskPasswords and also replaces the values of the query, because the URLs of
// receivers often have secrets there.
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
