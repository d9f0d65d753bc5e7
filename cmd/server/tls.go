package main

import (
	"fmt"
	"net"

	"laststand/internal/httpserver"
)

// openCertificate loads the certificate of --listen, if any is configured.
func (n *node) openCertificate() (err error) {
	if n.config.TLSCert == "" {
		return nil
	}
	n.certificate, err = httpserver.OpenCertificate(httpserver.CertificateConfig{
		Cert: n.config.TLSCert, Key: n.config.TLSKey, Logger: n.log, Registry: n.registry,
	})
	if err != nil {
		return fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return nil
}

// certificateTasks returns the background task that reloads a changed certificate, if any is
// configured.
func (n *node) certificateTasks() (tasks []backgroundTask) {
	if n.certificate != nil {
		tasks = append(tasks, n.certificate.Run)
	}
	return tasks
}

// servePlayers serves HTTP until the server shuts down, with TLS if there is a certificate.
func (n *node) servePlayers(l net.Listener) error {
	if n.certificate == nil {
		return n.players.Serve(l)
	}
	n.players.TLSConfig = n.certificate.TLSConfig()
	return n.players.ServeTLS(l, "", "")
}

// warnOfExposedOperations logs a warning if other machines can reach the operations address.
func (n *node) warnOfExposedOperations(address net.Addr) {
	if tcp, ok := address.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		n.log.Warn("operations address is reachable from other machines; keep it in a private network, because /metrics needs no token and admin tokens are sent without TLS",
			"address", address.String())
	}
}
