package evenkeel

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// tlsFields are the fields of urlParameters that only TLS has.
var tlsFields = []string{fieldServerName, fieldInsecure, fieldNoNameCheck, fieldRoots, fieldCert, fieldKey}

// certOptions are the parameters of a URL that concern certificates.
type certOptions struct {
	serverName  string
	insecure    bool   // trust any certificate
	noNameCheck bool   // trust a certificate of another host
	roots       string // file
	cert, key   string // files
}

// apply fills in p.cfg.TLS.
func (o *certOptions) apply(p *urlParser) *URLError {
	cfg := p.cfg.TLS
	if o.serverName != "" {
		cfg.ServerName = o.serverName
	}
	if o.roots != "" {
		pem, err := p.readFile(o.roots)
		if err != nil {
			return p.badFile(fieldRoots, err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return &URLError{Part: p.by[fieldRoots], Msg: "names a file without a PEM certificate"}
		}
	}
	if o.cert != "" || o.key != "" {
		if bad := o.keyPair(p); bad != nil {
			return bad
		}
	}
	switch {
	case o.insecure:
		cfg.InsecureSkipVerify = true
	case o.noNameCheck:
		// crypto/tls cannot check the chain without the name, so it is told to check nothing, and the chain is checked here.
		cfg.InsecureSkipVerify = true
		cfg.VerifyConnection = chainVerifier(cfg.RootCAs)
	}
	return nil
}

func (o *certOptions) keyPair(p *urlParser) *URLError {
	switch {
	case o.key == "":
		return &URLError{Part: p.by[fieldCert], Msg: "needs the key too; add key="}
	case o.cert == "":
		return &URLError{Part: p.by[fieldKey], Msg: "needs the certificate too; add cert="}
	}
	cert, err := p.readFile(o.cert)
	if err != nil {
		return p.badFile(fieldCert, err)
	}
	key, err := p.readFile(o.key)
	if err != nil {
		return p.badFile(fieldKey, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return &URLError{Part: p.by[fieldCert], Msg: "and key are no pair: " + err.Error(), Err: err}
	}
	p.cfg.TLS.Certificates = []tls.Certificate{pair}
	return nil
}

// badFile leaves the file's name to the cause: it comes from the URL.
func (p *urlParser) badFile(field string, err error) *URLError {
	return &URLError{Part: p.by[field], Msg: "names a file that cannot be read: " + errorBeneath(err).Error(), Err: err}
}

// errorBeneath is the innermost error, such as "no such file or directory".
func errorBeneath(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// chainVerifier checks that a certificate descends from one of the roots, or of the system's if roots is nil, and not whose it is. It runs on resumed
// conns too.
func chainVerifier(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("evenkeel: the server has no certificate")
		}
		opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, cert := range state.PeerCertificates[1:] {
			opts.Intermediates.AddCert(cert)
		}
		_, err := state.PeerCertificates[0].Verify(opts)
		return err
	}
}
