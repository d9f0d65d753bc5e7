package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
	"laststand/internal/timer"
)

// certificateInterval is the time between two reads of the files.
const certificateInterval = 10 * time.Second

// CertificateConfig configures a Certificate; all fields are required.
type CertificateConfig struct {
	Cert, Key string // paths of two PEM files: the certificate with its chain, and its private key
	Logger    *slog.Logger
	Registry  prometheus.Registerer
}

// Certificate is a certificate and its private key, from two files that may change. Its
// TLSConfig is safe for concurrent use.
type Certificate struct {
	CertificateConfig
	expiry  prometheus.Gauge
	loads   *prometheus.CounterVec // by outcome: loaded or failed
	current atomic.Pointer[tls.Certificate]
	files   string // content of both files at the last read, valid or not
}

// CheckCertificate returns an error if the files are not a valid certificate and its
// key.
func CheckCertificate(cert, key string) error {
	_, _, err := loadCertificate(cert, key)
	return err
}

// OpenCertificate reads a certificate and its key from its files. It returns an error if they are not valid.
func OpenCertificate(config CertificateConfig) (*Certificate, error) {
	factory := metric.For(config.Registry, "laststand_tls_")
	pair := &Certificate{
		CertificateConfig: config,
		expiry:            factory.Gauge("certificate_expiry_timestamp_seconds", "Unix time when the certificate in use expires."),
		loads:             factory.CountersOf("certificate_loads_total", "Loads of changed certificate files, by outcome; after a failed load the previous certificate stays in use.", "outcome", "failed"),
	}
	loaded, files, err := loadCertificate(config.Cert, config.Key)
	if err != nil {
		return nil, err
	}
	pair.files = files
	pair.setCurrent(loaded)
	return pair, nil
}

// TLSConfig returns the TLS configuration of a server, with TLS 1.2 or newer. The
// server always uses the current certificate.
func (c *Certificate) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// Run reloads changed files until ctx ends. It returns nil, at once for a nil Certificate.
func (c *Certificate) Run(ctx context.Context) error {
	if c == nil {
		return nil
	}
	timer.Every(ctx, certificateInterval, func(context.Context) { c.reloadIfChanged() })
	return nil
}

// reloadIfChanged reloads the files if they have changed. If the new files are
// not valid, the previous certificate stays in use. Examples: only one of the two
// files is new yet, or the certificate has expired. It logs each invalid version
// of the files once.
func (c *Certificate) reloadIfChanged() {
	loaded, files, err := loadCertificate(c.Cert, c.Key)
	if files == c.files {
		return
	}
	c.files = files
	if err == nil {
		c.setCurrent(loaded)
		c.Logger.Info("certificate reloaded", "expires", loaded.Leaf.NotAfter)
		return
	}
	c.loads.WithLabelValues("failed").Inc()
	c.Logger.Error("certificate reload failed; keeping the previous one", "error", err, "expires", c.current.Load().Leaf.NotAfter)
}

func (c *Certificate) setCurrent(loaded *tls.Certificate) {
	c.current.Store(loaded)
	c.loads.WithLabelValues("loaded").Inc()
	c.expiry.Set(float64(loaded.Leaf.NotAfter.Unix()))
}

// loadCertificate reads a pair from its files and checks it. It also returns the content of
// both files, or the text of the error if it cannot read them.
func loadCertificate(certFile, keyFile string) (*tls.Certificate, string, error) {
	cert, err := os.ReadFile(certFile)
	key, keyErr := os.ReadFile(keyFile)
	if err := errors.Join(err, keyErr); err != nil {
		return nil, err.Error(), err
	}
	files := string(cert) + "\x00" + string(key)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, files, fmt.Errorf("%s and %s are not a certificate and its key: %w", certFile, keyFile, err)
	}
	if expiry := pair.Leaf.NotAfter; time.Now().After(expiry) {
		return nil, files, fmt.Errorf("the certificate of %s has expired at %s; get a new one", certFile, expiry.Format(time.RFC3339))
	}
	return &pair, files, nil
}
