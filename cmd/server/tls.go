package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/config"
	"laststand/internal/httpserver"
)

func openCertificate(c *config.Config, registry prometheus.Registerer, log *slog.Logger) (*httpserver.Certificate, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	cert, key := c.CertificateFiles()
	certificate, err := httpserver.OpenCertificate(httpserver.CertificateConfig{Cert: cert, Key: key, Logger: log, Registry: registry})
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return certificate, nil
}

// serveHTTP serves until the server shuts down, with TLS if certificate is not nil.
func serveHTTP(server *http.Server, certificate *httpserver.Certificate, l net.Listener) error {
	if certificate == nil {
		return server.Serve(l)
	}
	server.TLSConfig = certificate.TLSConfig()
	return server.ServeTLS(l, "", "")
}

// warnOfExposedOperations logs a warning if other machines can reach the operations address.
func warnOfExposedOperations(address net.Addr, log *slog.Logger) {
	if tcp, ok := address.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		log.Warn("operations address is reachable from other machines; keep it in a private network, because /metrics needs no token and admin tokens are sent without TLS",
			"address", address.String())
	}
}
