package config

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Print writes a configuration as YAML, in the form of the configuration file. Passwords and
// query values in URLs are masked. It changes c.
func (c *Config) Print(w io.Writer) error {
	c.Redis, c.Database = maskPasswords(c.Redis), maskPasswords(c.Database)
	c.Tracing.Endpoint = maskURL(c.Tracing.Endpoint)
	for name, g := range c.Games {
		g.Behaviours.Sink = c.Sink(name)
		g.Behaviours.Sink.URL = maskURL(g.Behaviours.Sink.URL)
		g.Webhooks = slices.Clone(g.Webhooks)
		for i := range g.Webhooks {
			g.Webhooks[i].URL = maskURL(g.Webhooks[i].URL)
		}
		c.Games[name] = g
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(c); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	return e.Close()
}

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

// HasPassword returns true if a URL of Redis or a database has a password.
func HasPassword(address string) bool { return maskPasswords(address) != address }

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
