package evenkeel

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issue makes a certificate for a host, signed by the parent or by itself, and returns it with its key in PEM.
func issue(t *testing.T, host string, parent *tls.Certificate) (cert tls.Certificate, certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: parent == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	signer, signerKey := template, any(key)
	if parent != nil {
		signer, signerKey = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signerKey)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	if cert, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return cert, certPEM, keyPEM
}

// loopback returns both ends of a connection that has buffers: a failing handshake writes on both sides at once.
func loopback(t *testing.T) (here, there net.Conn) {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var dialer net.Dialer
	if here, err = dialer.DialContext(t.Context(), "tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if there, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close(); there.Close() })
	return here, there
}

func TestURLCertificates(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer("%", "%25", "&", "%26", "+", "%2B", `\`, "%5C", " ", "%20").Replace(path)
	}
	ca, caPEM, _ := issue(t, "ca", nil)
	server, _, _ := issue(t, "server.example", &ca)
	_, otherPEM, otherKey := issue(t, "stranger", nil)
	_, clientPEM, clientKey := issue(t, "client", &ca)
	roots, others := file("ca.pem", caPEM), file("other.pem", otherPEM)
	pair := "&cert=" + file("client.pem", clientPEM) + "&key=" + file("client.key", clientKey)

	for _, tt := range []struct {
		name, url string
		trusted   bool
	}{
		{"the right name and roots", "rediss://server.example?cacert=" + roots, true},
		{"another name", "rediss://h?cacert=" + roots, false},
		{"another name that the URL expects", "rediss://h?server_name=server.example&ssl_ca_certs=" + roots, true},
		{"another name that does not matter", "rediss://h?ssl_check_hostname=false&cacert=" + roots, true},
		{"a name that does not matter, other roots", "rediss://h?ssl_check_hostname=false&cacert=" + others, false},
		{"a name that matters", "rediss://h?ssl_check_hostname=true&cacert=" + roots, false},
		{"other roots", "rediss://server.example?cacert=" + others, false},
		{"nothing matters", "rediss://h?insecure=true&ssl_check_hostname=false&cacert=" + others, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := ParseURL(tt.url + pair)
			if err != nil {
				t.Fatal(err)
			}
			here, there := loopback(t)
			shown := make(chan int, 1)
			go func() {
				peer := tls.Server(there, &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12})
				// The client's verdict is what is tested.
				_ = peer.HandshakeContext(t.Context())
				shown <- len(peer.ConnectionState().PeerCertificates)
				_ = there.Close()
			}()
			err = tls.Client(here, cfg.TLS).HandshakeContext(t.Context())
			_ = here.Close()
			if certs := <-shown; (err == nil) != tt.trusted || tt.trusted && certs != 1 {
				t.Errorf("handshake: %v, client certificates: %d", err, certs)
			}
		})
	}

	for query, want := range map[string]string{
		"cacert=" + file("none.pem", nil):                             "cacert names a file without a PEM certificate",
		"ssl_ca_certs=" + filepath.ToSlash(dir) + "/absent":           "ssl_ca_certs names a file that cannot be read: ",
		"cacert=" + filepath.ToSlash(dir):                             "cacert names a file that cannot be read: ",
		"cert=" + roots + "&key=" + file("stranger.key", otherKey):    "cert and key are no pair: ",
		"cert=" + roots + "&key=" + filepath.ToSlash(dir) + "/absent": "key names a file that cannot be read: ",
		"cert=" + filepath.ToSlash(dir) + "/absent&key=" + roots:      "cert names a file that cannot be read: ",
	} {
		_, err := ParseURL("rediss://h?" + query)
		if err == nil || !strings.HasPrefix(err.Error(), "evenkeel: URL: "+want) || strings.Contains(err.Error(), filepath.Base(dir)) {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
}

// FuzzParseURL: whatever surrounds a password, ParseURL does not panic, and its error does not show it.
