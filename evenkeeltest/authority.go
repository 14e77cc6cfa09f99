package evenkeeltest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certLife is how long throw-away certificates are valid.
const certLife = 24 * time.Hour

// Authority is a throw-away certificate authority with one server and one client
// certificate, all ECDSA P-256, valid for a day. The server's is for 127.0.0.1,
// ::1 and localhost. It is immutable.
type Authority struct {
	pool           *x509.CertPool
	server, client tls.Certificate
	ca             []byte // PEM
}

// NewAuthority makes an authority. It is kept in memory; nothing is written.
func NewAuthority() (*Authority, error) {
	now := time.Now()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("evenkeeltest: authority: %w", err)
	}
	root := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "evenkeeltest throw-away CA"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(certLife),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, fmt.Errorf("evenkeeltest: authority: %w", err)
	}
	a := &Authority{pool: x509.NewCertPool(), ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	a.pool.AppendCertsFromPEM(a.ca)
	leaf := func(serial int64, name string, usage x509.ExtKeyUsage) (tls.Certificate, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return tls.Certificate{}, err
		}
		der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(serial),
			Subject:      pkix.Name{CommonName: name},
			NotBefore:    root.NotBefore,
			NotAfter:     root.NotAfter,
			KeyUsage:     x509.KeyUsageDigitalSignature,
			ExtKeyUsage:  []x509.ExtKeyUsage{usage},
			DNSNames:     []string{"localhost"},
			IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		}, root, &key.PublicKey, caKey)
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
	}
	if a.server, err = leaf(2, "evenkeeltest server", x509.ExtKeyUsageServerAuth); err != nil {
		return nil, fmt.Errorf("evenkeeltest: server certificate: %w", err)
	}
	if a.client, err = leaf(3, "evenkeeltest client", x509.ExtKeyUsageClientAuth); err != nil {
		return nil, fmt.Errorf("evenkeeltest: client certificate: %w", err)
	}
	return a, nil
}

// ServerConfig returns a new configuration for a server, for [NewFake] over a
// tls.NewListener for instance. It does not ask for client certificates.
func (a *Authority) ServerConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{a.server}, ClientCAs: a.pool}
}

// ClientConfig returns a new configuration for a client: it trusts this authority
// alone, expects the name localhost, and has a client certificate to show.
func (a *Authority) ClientConfig() *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      a.pool,
		ServerName:   "localhost",
		Certificates: []tls.Certificate{a.client},
	}
}

// write puts the PEM files into dir, keys for the owner only.
func (a *Authority) write(dir string) error {
	if err := os.WriteFile(certPath(dir, "ca"), a.ca, 0o600); err != nil {
		return err
	}
	for name, cert := range map[string]tls.Certificate{"server": a.server, "client": a.client} {
		key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
		if err != nil {
			return err
		}
		c := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
		k := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
		if err := os.WriteFile(certPath(dir, name), c, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(keyPath(dir, name), k, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func certPath(dir, name string) string { return filepath.Join(dir, name+".crt") }
func keyPath(dir, name string) string  { return filepath.Join(dir, name+".key") }
