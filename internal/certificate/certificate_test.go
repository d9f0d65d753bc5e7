package certificate

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// certificateFiles are the two files of a pair, and the log of the Pair that uses them.
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
func (f *certificateFiles) write(serial int64, lasts time.Duration) {
	f.Helper()
	testenv.WriteCertificate(f.T, f.cert, f.key, serial, lasts)
}

func (f *certificateFiles) put(name string, text []byte) {
	f.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *certificateFiles) open() *Pair {
	f.Helper()
	p, err := Open(Config{Cert: f.cert, Key: f.key, Logger: slog.New(slog.NewTextHandler(&f.log, nil)), Registry: prometheus.NewRegistry()})
	if err != nil {
		f.Fatal(err)
	}
	return p
}

// servedSerial returns the serial number that a client sees.
func servedSerial(t *testing.T, p *Pair) int64 {
	t.Helper()
	c, err := handshake(p, tls.VersionTLS13)
	if err != nil {
		t.Fatal(err)
	}
	return c.PeerCertificates[0].SerialNumber.Int64()
}

func handshake(p *Pair, newest uint16) (tls.ConnectionState, error) {
	clientEnd, serverEnd := net.Pipe()
	ended := make(chan struct{})
	server := tls.Server(serverEnd, p.TLSConfig())
	go func() {
		defer close(ended)
		_ = server.Handshake() // the client has the error
		_ = serverEnd.Close()
	}()
	client := tls.Client(clientEnd, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: newest})
	err := client.Handshake()
	_ = clientEnd.Close()
	<-ended
	return client.ConnectionState(), err
}

func TestChangedFilesAreServed(t *testing.T) {
	t.Parallel()
	f := newCertificateFiles(t)
	f.write(1, time.Hour)
	p := f.open()
	if serial := servedSerial(t, p); serial != 1 {
		t.Errorf("certificate %d is served", serial)
	}
	f.write(2, 48*time.Hour)
	p.ReloadIfChanged()
	if serial := servedSerial(t, p); serial != 2 {
		t.Errorf("after a change certificate %d is served", serial)
	}
	if at := testutil.ToFloat64(p.expiry); time.Until(time.Unix(int64(at), 0)) < 47*time.Hour {
		t.Errorf("the metric has the expiry %v", at)
	}
	if loaded, failed := testutil.ToFloat64(p.loads.WithLabelValues("loaded")), testutil.ToFloat64(p.loads.WithLabelValues("failed")); loaded != 2 || failed != 0 {
		t.Errorf("loaded %v, failed %v", loaded, failed)
	}
}

func TestInvalidFilesKeepThePreviousCertificate(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*certificateFiles){
		"only the certificate is new": func(f *certificateFiles) {
			testenv.WriteCertificate(f.T, f.cert, filepath.Join(f.TempDir(), "other.key"), 9, time.Hour)
		},
		"the key is broken": func(f *certificateFiles) {
			f.put(f.key, []byte("-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----\n"))
		},
		"the certificate is empty":     func(f *certificateFiles) { f.put(f.cert, nil) },
		"the certificate is too large": func(f *certificateFiles) { f.put(f.cert, make([]byte, maxFileSize+1)) },
		"the certificate has expired":  func(f *certificateFiles) { f.write(9, -time.Minute) },
		"the key is missing":           func(f *certificateFiles) { _ = os.Remove(f.key) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCertificateFiles(t)
			f.write(1, time.Hour)
			p := f.open()
			spoil(f)
			p.ReloadIfChanged()
			p.ReloadIfChanged()
			if serial := servedSerial(t, p); serial != 1 {
				t.Errorf("certificate %d is served", serial)
			}
			if n := testutil.ToFloat64(p.loads.WithLabelValues("failed")); n != 1 {
				t.Errorf("%v loads failed, want 1 per change of the files", n)
			}
			if log := f.log.String(); strings.Count(log, "level=ERROR") != 1 || strings.Contains(log, "s3cret") {
				t.Errorf("the log is %s", log)
			}
			f.write(2, time.Hour)
			p.ReloadIfChanged()
			if serial := servedSerial(t, p); serial != 2 {
				t.Errorf("after a repair certificate %d is served", serial)
			}
		})
	}
}

func TestInvalidFilesAreRefused(t *testing.T) {
	t.Parallel()
	f := newCertificateFiles(t)
	if err := CheckFiles(f.cert, f.key); err == nil || !strings.Contains(err.Error(), f.cert) || !strings.Contains(err.Error(), f.key) {
		t.Errorf("missing files: %v", err)
	}
	f.write(1, -time.Minute)
	if err := CheckFiles(f.cert, f.key); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired certificate: %v", err)
	}
	f.put(f.key, []byte("s3cret"))
	if _, err := Open(Config{Cert: f.cert, Key: f.key, Registry: prometheus.NewRegistry()}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a file without a key: %v", err)
	}
}

func TestTLSOlderThan12IsRefused(t *testing.T) {
	t.Parallel()
	f := newCertificateFiles(t)
	f.write(1, time.Hour)
	p := f.open()
	if c, err := handshake(p, tls.VersionTLS12); err != nil || c.Version != tls.VersionTLS12 {
		t.Errorf("TLS 1.2: %v", err)
	}
	if _, err := handshake(p, tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
}

func TestRunReloadsChangedFiles(t *testing.T) {
	t.Parallel()
	f := newCertificateFiles(t)
	f.write(1, time.Hour)
	p := f.open()
	f.write(2, time.Hour)
	synctest.Test(t, func(t *testing.T) {
		go func() { _ = p.Run(t.Context()) }()
		time.Sleep(reloadInterval + 1)
		synctest.Wait()
		if serial := p.current.Load().Leaf.SerialNumber.Int64(); serial != 2 {
			t.Errorf("after %v the certificate is %d, want 2", reloadInterval, serial)
		}
	})
}
