package certificate

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
	// reloadInterval is the time between two reads of the files.
	reloadInterval = 10 * time.Second
	// maxFileSize is the maximum size of a file, in bytes.
	maxFileSize = 1 << 20
)

// Config configures a Pair; all fields are required.
type Config struct {
	Cert, Key string // paths of two PEM files: the certificate with its chain, and its private key
	Logger    *slog.Logger
	Registry  prometheus.Registerer
}

// Pair is a certificate and its private key, from two files that may change. It
// is safe for concurrent use.
type Pair struct {
	Config
	expiry  prometheus.Gauge
	loads   *prometheus.CounterVec // by outcome: loaded or failed
	current atomic.Pointer[tls.Certificate]

	mu       sync.Mutex
	lastHash fileHash // hash of both files at the last read, valid or not
}

type fileHash = [sha256.Size]byte

// CheckFiles returns an error if the files are not a valid certificate and its
// key.
func CheckFiles(cert, key string) error {
	_, _, err := load(cert, key)
	return err
}

// Open reads a pair from its files. It returns an error if the pair is not valid.
func Open(config Config) (*Pair, error) {
	factory := promauto.With(config.Registry)
	pair := &Pair{
		Config: config,
		expiry: factory.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_tls_certificate_expiry_timestamp_seconds", Help: "Unix time when the certificate in use expires.",
		}),
		loads: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_tls_certificate_loads_total", Help: "Loads of changed certificate files, by outcome; after a failed load the previous certificate stays in use.",
		}, []string{"outcome"}),
	}
	loaded, hash, err := load(config.Cert, config.Key)
	if err != nil {
		return nil, err
	}
	pair.loads.WithLabelValues("failed")
	pair.setCurrent(loaded, hash)
	return pair, nil
}

// TLSConfig returns the TLS configuration of a server, with TLS 1.2 or newer. The
// server always uses the current certificate.
func (p *Pair) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.current.Load(), nil },
	}
}

// Run reloads changed files until ctx ends. It returns nil.
func (p *Pair) Run(ctx context.Context) error {
	loop.Every(ctx, reloadInterval, func(context.Context) { p.ReloadIfChanged() })
	return nil
}

// ReloadIfChanged reloads the files if they have changed. If the new files are
// not valid, the previous certificate stays in use. Examples: only one of the two
// files is new yet, or the certificate has expired. It logs each invalid version
// of the files once.
func (p *Pair) ReloadIfChanged() {
	p.mu.Lock()
	defer p.mu.Unlock()
	loaded, hash, err := load(p.Cert, p.Key)
	if hash == p.lastHash {
		return
	}
	if err == nil {
		p.setCurrent(loaded, hash)
		p.Logger.Info("certificate reloaded", "expires", loaded.Leaf.NotAfter)
		return
	}
	p.lastHash = hash
	p.loads.WithLabelValues("failed").Inc()
	p.Logger.Error("certificate reload failed; keeping the previous one", "error", err, "expires", p.current.Load().Leaf.NotAfter)
}

// setCurrent makes a certificate the current one. Except in Open, the caller
// holds mu.
func (p *Pair) setCurrent(loaded *tls.Certificate, hash fileHash) {
	p.current.Store(loaded)
	p.lastHash = hash
	p.loads.WithLabelValues("loaded").Inc()
	p.expiry.Set(float64(loaded.Leaf.NotAfter.Unix()))
}

// load reads a pair from its files and checks it. It also returns the hash of both
// files. If it cannot read them, it returns the hash of the error text.
func load(certFile, keyFile string) (*tls.Certificate, fileHash, error) {
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

// readFileLimited reads a file of at most maxFileSize bytes.
func readFileLimited(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err == nil && len(content) > maxFileSize {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFileSize)
	}
	return content, err
}
