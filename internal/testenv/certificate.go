package testenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// WriteCertificate makes a self-signed certificate for localhost. It writes the certificate
// and its private key to two PEM files, and returns the certificate for clients. It is
// valid from one hour ago until lifetime from now.
func WriteCertificate(t testing.TB, certFile, keyFile string, serial int64, lifetime time.Duration) *x509.Certificate {
	t.Helper()
	certificate, cert, key, err := makeCertificate(serial, lifetime)
	for name, text := range map[string][]byte{certFile: cert, keyFile: key} {
		if err == nil {
			err = os.WriteFile(name, text, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// makeCertificate makes a self-signed certificate for localhost, and returns it and its private
// key as PEM, too.
func makeCertificate(serial int64, lifetime time.Duration) (certificate *x509.Certificate, cert, key []byte, err error) {
	privateKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lifetime),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, privateKey.Public(), privateKey)
	if err != nil {
		return nil, nil, nil, err
	}
	privateDER, err := x509.MarshalPKCS8PrivateKey(privateKey)
	if err != nil {
		return nil, nil, nil, err
	}
	certificate, err = x509.ParseCertificate(der)
	return certificate, encodePEM("CERTIFICATE", der), encodePEM("PRIVATE KEY", privateDER), err
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
