// Package proxies holds the examples of proxies in front of the server. The tests and
// `loadtest stress chaos -proxy` start these files, with their own addresses.
package proxies

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed nginx.conf haproxy.cfg haproxy-tcp.cfg Caddyfile
var files embed.FS

// Site is what a program writes into an example in place of names and addresses.
type Site struct {
	Listen          string   // host:port of the proxy
	Nodes           []string // host:port of each node
	Cert, Key, Both string   // PEM files: the certificate, its key, and both
}

// Example returns the text of an example file for a site. An error means that there is no such
// file.
func Example(name string, s Site) (string, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("%q is no example of a proxy: %w", name, err)
	}
	text := s.setNodes(string(data))
	return strings.NewReplacer(
		"listen 443", "listen "+s.Listen, "bind :443", "bind "+s.Listen, "quiz.example.com {", "https://"+s.Listen+" {",
		"/etc/laststand/fullchain.pem", s.Cert, "/etc/laststand/key.pem", s.Key, "/etc/laststand/both.pem", s.Both,
	).Replace(text), nil
}

// The addresses of the nodes in the examples.
const firstNode, secondNode = "10.0.0.11:8080", "10.0.0.12:8080"

// setNodes replaces the nodes of an example. A line with the second node alone repeats for each
// further node.
func (s Site) setNodes(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.Contains(line, firstNode+" "+secondNode):
			line = strings.Replace(line, firstNode+" "+secondNode, strings.Join(s.Nodes, " "), 1)
		case strings.Contains(line, firstNode):
			line = strings.Replace(line, firstNode, s.Nodes[0], 1)
		case strings.Contains(line, secondNode):
			example := line
			line = ""
			for i, node := range s.Nodes[1:] {
				line += strings.NewReplacer(secondNode, node, "node2", fmt.Sprintf("node%d", i+2)).Replace(example)
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
