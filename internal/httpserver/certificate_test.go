package httpserver

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/testenv"
)

// certificateFiles are the two files of a pair, and the log of the Certificate that uses them.
type certificateFiles struct {
	*testing.T
	cert, key string
	log       bytes.Buffer
}

func newCertificateFiles(t *testing.T) *certificateFiles {
	dir := t.TempDir()
	return &certificateFiles{T: t, cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
}

// writePair writes a pair with a serial number and a lifetime.
func (f *certificateFiles) writePair(serial int64, lifetime time.Duration) {
	f.Helper()
	testenv.WriteCertificate(f.T, f.cert, f.key, serial, lifetime)
}

func (f *certificateFiles) writeFile(name string, text []byte) {
	f.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *certificateFiles) readFile(name string) []byte {
	f.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	return text
}

func (f *certificateFiles) open() *Certificate {
	f.Helper()
	p, err := OpenCertificate(CertificateConfig{Cert: f.cert, Key: f.key, Logger: slog.New(slog.NewTextHandler(&f.log, nil)), Registry: prometheus.NewRegistry()})
	if err != nil {
		f.Fatal(err)
	}
	return p
}

// servedSerial returns the serial number that a client sees.
func servedSerial(t *testing.T, p *Certificate) int64 {
	t.Helper()
	state, err := handshake(p, tls.VersionTLS13)
	if err != nil {
		t.Fatal(err)
	}
	return state.PeerCertificates[0].SerialNumber.Int64()
}

func handshake(p *Certificate, maxVersion uint16) (tls.ConnectionState, error) {
	clientEnd, serverEnd := net.Pipe()
	ended := make(chan struct{})
	server := tls.Server(serverEnd, p.TLSConfig())
	go func() {
		defer close(ended)
		_ = server.Handshake() // the client has the error
		_ = serverEnd.Close()
	}()
	client := tls.Client(clientEnd, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: maxVersion})
	err := client.Handshake()
	_ = clientEnd.Close()
	<-ended
	return client.ConnectionState(), err
}

func TestChangedFilesAreServed(t *testing.T) {
	t.Parallel()
	files := newCertificateFiles(t)
	files.writePair(1, time.Hour)
	pair := files.open()
	if serial := servedSerial(t, pair); serial != 1 {
		t.Errorf("certificate %d is served", serial)
	}
	files.writePair(2, 48*time.Hour)
	pair.reloadIfChanged()
	if serial := servedSerial(t, pair); serial != 2 {
		t.Errorf("after a change certificate %d is served", serial)
	}
	if expiry := testutil.ToFloat64(pair.expiry); time.Until(time.Unix(int64(expiry), 0)) < 47*time.Hour {
		t.Errorf("the metric has the expiry %v", expiry)
	}
	if loaded, failed := testutil.ToFloat64(pair.loads.WithLabelValues("loaded")), testutil.ToFloat64(pair.loads.WithLabelValues("failed")); loaded != 2 || failed != 0 {
		t.Errorf("loaded %v, failed %v", loaded, failed)
	}
}

func TestInvalidFilesKeepThePreviousCertificate(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*certificateFiles){
		"only the certificate is new": func(files *certificateFiles) {
			testenv.WriteCertificate(files.T, files.cert, filepath.Join(files.TempDir(), "other.key"), 9, time.Hour)
		},
		"the key is broken": func(files *certificateFiles) {
			files.writeFile(files.key, []byte("-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----\n"))
		},
		"the certificate is empty":     func(files *certificateFiles) { files.writeFile(files.cert, nil) },
		"the certificate is too large": func(files *certificateFiles) { files.writeFile(files.cert, make([]byte, 1<<20)) },
		"the certificate has expired":  func(files *certificateFiles) { files.writePair(9, -time.Minute) },
		"the key is missing":           func(files *certificateFiles) { _ = os.Remove(files.key) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := newCertificateFiles(t)
			files.writePair(1, time.Hour)
			pair := files.open()
			damage(files)
			pair.reloadIfChanged()
			pair.reloadIfChanged()
			if serial := servedSerial(t, pair); serial != 1 {
				t.Errorf("certificate %d is served", serial)
			}
			if n := testutil.ToFloat64(pair.loads.WithLabelValues("failed")); n != 1 {
				t.Errorf("%v loads failed, want 1 per change of the files", n)
			}
			if log := files.log.String(); strings.Count(log, "level=ERROR") != 1 || strings.Contains(log, "s3cret") {
				t.Errorf("the log is %s", log)
			}
			files.writePair(2, time.Hour)
			pair.reloadIfChanged()
			if serial := servedSerial(t, pair); serial != 2 {
				t.Errorf("after a repair certificate %d is served", serial)
			}
		})
	}
}

// The same bytes in two other files are a change: a key that was in the wrong file first is
// found when it moves to its own.
func TestKeyThatMovesToItsFileIsLoaded(t *testing.T) {
	t.Parallel()
	files := newCertificateFiles(t)
	files.writePair(1, time.Hour)
	pair := files.open()
	files.writePair(2, time.Hour)
	cert, key := files.readFile(files.cert), files.readFile(files.key)
	files.writeFile(files.cert, slices.Concat(cert, key))
	files.writeFile(files.key, nil)
	pair.reloadIfChanged()
	files.writeFile(files.cert, cert)
	files.writeFile(files.key, key)
	pair.reloadIfChanged()
	if serial := servedSerial(t, pair); serial != 2 {
		t.Errorf("certificate %d is served, want 2", serial)
	}
}

func TestInvalidFilesAreRefused(t *testing.T) {
	t.Parallel()
	files := newCertificateFiles(t)
	if err := CheckCertificate(files.cert, files.key); err == nil || !strings.Contains(err.Error(), files.cert) || !strings.Contains(err.Error(), files.key) {
		t.Errorf("missing files: %v", err)
	}
	files.writePair(1, -time.Minute)
	if err := CheckCertificate(files.cert, files.key); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired certificate: %v", err)
	}
	files.writeFile(files.key, []byte("s3cret"))
	if _, err := OpenCertificate(CertificateConfig{Cert: files.cert, Key: files.key, Registry: prometheus.NewRegistry()}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a file without a key: %v", err)
	}
}

func TestTLSOlderThan12IsRefused(t *testing.T) {
	t.Parallel()
	files := newCertificateFiles(t)
	files.writePair(1, time.Hour)
	pair := files.open()
	if c, err := handshake(pair, tls.VersionTLS12); err != nil || c.Version != tls.VersionTLS12 {
		t.Errorf("TLS 1.2: %v", err)
	}
	if _, err := handshake(pair, tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
}

func TestRunReloadsChangedFiles(t *testing.T) {
	t.Parallel()
	files := newCertificateFiles(t)
	files.writePair(1, time.Hour)
	pair := files.open()
	files.writePair(2, time.Hour)
	synctest.Test(t, func(t *testing.T) {
		go func() { _ = pair.Run(t.Context()) }()
		time.Sleep(certificateInterval + 1)
		synctest.Wait()
		if serial := pair.current.Load().Leaf.SerialNumber.Int64(); serial != 2 {
			t.Errorf("after %v the certificate is %d, want 2", certificateInterval, serial)
		}
	})
}
