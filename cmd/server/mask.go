package main

import "regexp"

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
