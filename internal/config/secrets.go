package config

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A setting with a secret may name a file in place of the secret.
const (
	filePrefix       = "file:"       // and a path
	credentialPrefix = "credential:" // and the name of a systemd credential; also in place of a path
)

// defaultCredentials is the folder of the credentials of the packaged unit. Commands that run
// beside the service find them there.
const defaultCredentials = "/run/credentials/laststand.service"

// readSecret returns the text that a setting stands for: the setting itself, or the content of the
// file or credential that it names. Its errors never contain a secret.
func (f sourceFile) readSecret(setting string) (string, error) {
	path, isFile := strings.CutPrefix(setting, filePrefix)
	if !isFile && !strings.HasPrefix(setting, credentialPrefix) {
		return setting, nil
	}
	content, err := os.ReadFile(f.resolve(path))
	if err != nil {
		return "", fmt.Errorf("the file of %q cannot be read: %w", setting, err)
	}
	text := strings.TrimSpace(string(content))
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return "", fmt.Errorf("the file of %q must have one line", setting)
	}
	return text, nil
}

// Secret returns the text that a setting stands for, such as the URL of Redis with its password.
// The configuration must be valid. If the file of the secret has become unreadable, Secret returns
// the setting, which is no address: an empty one would mean an embedded store.
func (c *Config) Secret(setting string) string {
	text, err := c.file.readSecret(setting)
	if err != nil {
		return setting
	}
	return text
}

// credentialPath returns the path of a credential, and any other path unchanged.
func credentialPath(path string) string {
	name, isCredential := strings.CutPrefix(path, credentialPrefix)
	if !isCredential {
		return path
	}
	folder := os.Getenv("CREDENTIALS_DIRECTORY") // systemd sets it
	if folder == "" {
		folder = defaultCredentials
	}
	return filepath.Join(folder, name)
}

// CertificateFiles returns the paths of the certificate and its key.
func (c *Config) CertificateFiles() (cert, key string) {
	return credentialPath(c.TLSCert), credentialPath(c.TLSKey)
}

// checkSecret returns an error if the text that a setting stands for is invalid, or if its file
// cannot be read.
func (f sourceFile) checkSecret(setting string, check func(string) error) error {
	text, err := f.readSecret(setting)
	if err == nil {
		err = check(text)
	}
	return err
}

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
