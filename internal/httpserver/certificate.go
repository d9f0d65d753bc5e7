package httpserver

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/loop"
)

const (
	// certificateInterval is the time between two reads of the files.
	certificateInterval = 10 * time.Second
	// maxCertificateSize is the maximum size of a file, in bytes.
	maxCertificateSize = 1 << 20
)

// CertificateConfig configures a Certificate; all fields are required.
type CertificateConfig struct {
	Cert, Key string // paths of two PEM files: the certificate with its chain, and its private key
	Logger    *slog.Logger
	Registry  prometheus.Registerer
}

// Certificate is a certificate and its private key, from two files that may change. It
// is safe for concurrent use.
type Certificate struct {
	CertificateConfig
	expiry  prometheus.Gauge
	loads   *prometheus.CounterVec // by outcome: loaded or failed
	current atomic.Pointer[tls.Certificate]

	mu       sync.Mutex
	lastHash fileHash // hash of both files at the last read, valid or not
}

type fileHash = [sha256.Size]byte

// CheckCertificate returns an error if the files are not a valid certificate and its
// key.
func CheckCertificate(cert, key string) error {
	_, _, err := loadCertificate(cert, key)
	return err
}

// OpenCertificate reads a certificate and its key from its files. It returns an error if they are not valid.
func OpenCertificate(config CertificateConfig) (*Certificate, error) {
	factory := promauto.With(config.Registry)
	pair := &Certificate{
		CertificateConfig: config,
		expiry: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_tls_certificate_expiry_timestamp_seconds", Help: "Unix time when the certificate in use expires.",
		}),
		loads: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_tls_certificate_loads_total", Help: "Loads of changed certificate files, by outcome; after a failed load the previous certificate stays in use.",
		}, []string{"outcome"}),
	}
	loaded, hash, err := loadCertificate(config.Cert, config.Key)
	if err != nil {
		return nil, err
	}
	pair.loads.WithLabelValues("failed")
	pair.setCurrent(loaded, hash)
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
	loop.Every(ctx, certificateInterval, func(context.Context) { c.ReloadIfChanged() })
	return nil
}

// ReloadIfChanged reloads the files if they have changed. If the new files are
// not valid, the previous certificate stays in use. Examples: only one of the two
// files is new yet, or the certificate has expired. It logs each invalid version
// of the files once.
func (c *Certificate) ReloadIfChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	loaded, hash, err := loadCertificate(c.Cert, c.Key)
	if hash == c.lastHash {
		return
	}
	if err == nil {
		c.setCurrent(loaded, hash)
		c.Logger.Info("certificate reloaded", "expires", loaded.Leaf.NotAfter)
		return
	}
	c.lastHash = hash
	c.loads.WithLabelValues("failed").Inc()
	c.Logger.Error("certificate reload failed; keeping the previous one", "error", err, "expires", c.current.Load().Leaf.NotAfter)
}

// setCurrent makes a certificate the current one. Except in OpenCertificate, the caller
// holds mu.
func (c *Certificate) setCurrent(loaded *tls.Certificate, hash fileHash) {
	c.current.Store(loaded)
	c.lastHash = hash
	c.loads.WithLabelValues("loaded").Inc()
	c.expiry.Set(float64(loaded.Leaf.NotAfter.Unix()))
}

// loadCertificate reads a pair from its files and checks it. It also returns the hash of both
// files. If it cannot read them, it returns the hash of the error text.
func loadCertificate(certFile, keyFile string) (*tls.Certificate, fileHash, error) {
	cert, err := readFileLimited(certFile)
	key, keyErr := readFileLimited(keyFile)
	if err := errors.Join(err, keyErr); err != nil {
		return nil, sha256.Sum256([]byte(err.Error())), err
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(cert), cert, key))
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, hash, fmt.Errorf("%s and %s are not a certificate and its key: %w", certFile, keyFile, err)
	}
	if expiry := pair.Leaf.NotAfter; time.Now().After(expiry) {
		return nil, hash, fmt.Errorf("the certificate of %s has expired at %s; get a new one", certFile, expiry.Format(time.RFC3339))
	}
	return &pair, hash, nil
}

// readFileLimited reads a file of at most maxCertificateSize bytes.
func readFileLimited(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxCertificateSize+1))
	if err == nil && len(content) > maxCertificateSize {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxCertificateSize)
	}
	return content, err
}
