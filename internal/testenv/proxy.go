package testenv

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/deploy/proxies"
)

// Proxies are the examples of proxies that NodeOptions.Proxy can name.
var Proxies = []string{"nginx.conf", "haproxy.cfg", "haproxy-tcp.cfg", "Caddyfile"}

// proxyProgram returns the program that runs an example.
func proxyProgram(proxy string) string {
	for _, program := range []string{"nginx", "haproxy"} {
		if strings.HasPrefix(proxy, program) {
			return program
		}
	}
	return "caddy"
}

// HasProxy reports whether the program of a proxy is installed. If it is required, the test
// fails.
func HasProxy(t testing.TB, proxy string) bool {
	t.Helper()
	return isInstalled(t, proxyProgram(proxy))
}

// behindProxy adds the settings that a node behind its proxy needs: it keeps its port and trusts
// the proxy. Behind haproxy-tcp.cfg it ends TLS and reads the PROXY protocol.
func (o *NodeOptions) behindProxy() error {
	o.keepPort = true
	o.More += "trusted_proxies: [127.0.0.1]\n"
	if o.Proxy != "haproxy-tcp.cfg" {
		return nil
	}
	o.More += "proxy_protocol: required\n"
	files, err := sharedCertificate()
	o.Env = append(o.Env, "LASTSTAND_TLS_CERT="+files.cert, "LASTSTAND_TLS_KEY="+files.key)
	return err
}

// startProxy starts an example in front of nodes. URL of the result starts with https.
func startProxy(proxy string, nodes []*Node) (server *Server, err error) {
	defer Recover(&err)
	program := proxyProgram(proxy)
	path := programPath(program)
	dir, certificate := Must(newServerDir(program, path)), Must(sharedCertificate())
	site := proxies.Site{Cert: certificate.cert, Key: certificate.key, Both: certificate.both}
	for _, n := range nodes {
		_, address, _ := strings.Cut(n.URL, "://")
		site.Nodes = append(site.Nodes, address)
	}
	return startOnFreePort(func(s *Server, _ int) error {
		s.URL, site.Listen = "https://"+s.Addr, s.Addr
		text, err := proxies.Example(proxy, site)
		if err != nil {
			return err
		}
		config := filepath.Join(dir, proxy)
		s.process = process{
			path: path, args: proxyArgs(program, dir, config), env: []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir},
			log: filepath.Join(dir, "log"), ready: func(ctx context.Context, _ int) error { return CheckReady(ctx, s.URL) },
		}
		return os.WriteFile(config, []byte(proxyFolders(text, dir)), 0o600)
	})
}

func proxyArgs(program, dir, config string) []string {
	switch program {
	case "nginx":
		return []string{"-p", dir, "-e", "stderr", "-c", config, "-g", "daemon off; pid " + filepath.Join(dir, "pid") + ";"}
	case "haproxy":
		return []string{"-db", "-f", config}
	default:
		return []string{"run", "--config", config, "--adapter", "caddyfile"}
	}
}

// proxyFolders adds settings that keep the files of nginx and the admin port of Caddy out of the
// way of other servers of this machine.
func proxyFolders(text, dir string) string {
	if strings.Contains(text, "reverse_proxy") {
		return "{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text
	}
	paths := "http {\n    access_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		paths += fmt.Sprintf("    %s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	return strings.Replace(text, "http {\n", paths, 1)
}

// CheckReady returns nil if the node at a URL, or a node behind the proxy there, is ready.
func CheckReady(ctx context.Context, url string) error {
	_, err := get(ctx, &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}, url+"/readyz", "")
	return err
}

// certificateFiles are PEM files of a certificate for 127.0.0.1 and of its key.
type certificateFiles struct{ cert, key, both string }

// sharedCertificate makes a certificate that all clients of this process trust. It must be
// called before the first connection by TLS, because Go reads SSL_CERT_FILE only once.
var sharedCertificate = sync.OnceValues(func() (files certificateFiles, err error) {
	defer Recover(&err)
	dir := Must(sharedDir())
	files = certificateFiles{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), both: filepath.Join(dir, "both.pem")}
	Must(writeCertificate(files.cert, files.key, 1, 24*time.Hour))
	MustDo(os.WriteFile(files.both, slices.Concat(Must(os.ReadFile(files.cert)), Must(os.ReadFile(files.key))), 0o600))
	return files, os.Setenv("SSL_CERT_FILE", files.cert)
})

// WriteCertificate makes a self-signed certificate for localhost. It writes the certificate
// and its private key to two PEM files, and returns the certificate for clients. It is
// valid from one hour ago until lifetime from now.
func WriteCertificate(t testing.TB, certFile, keyFile string, serial int64, lifetime time.Duration) *x509.Certificate {
	t.Helper()
	certificate, err := writeCertificate(certFile, keyFile, serial, lifetime)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func writeCertificate(certFile, keyFile string, serial int64, lifetime time.Duration) (certificate *x509.Certificate, err error) {
	defer Recover(&err)
	privateKey := Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lifetime),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		IsCA: true, BasicConstraintsValid: true,
	}
	der := Must(x509.CreateCertificate(rand.Reader, template, template, privateKey.Public(), privateKey))
	writePEM(certFile, "CERTIFICATE", der)
	writePEM(keyFile, "PRIVATE KEY", Must(x509.MarshalPKCS8PrivateKey(privateKey)))
	return x509.ParseCertificate(der)
}

func writePEM(file, kind string, der []byte) {
	MustDo(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}
