package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel/bench"
)

// serverFlags name the server, as redis-cli does. Without any of them the
// experiment starts a private one.
type serverFlags struct {
	url      string
	host     string
	port     int
	socket   string
	user     string
	password string
	// passwordFile holds the password on its first line.
	passwordFile string
	db           int
	tls          bool
	cacert       string
	cert, key    string
	sni          string
	insecure     bool
}

const (
	defaultHost = "127.0.0.1"
	defaultPort = 6379
)

func (f *serverFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.url, "url", "", "server as `URL`: redis, rediss, valkey, valkeys or unix (default: a private server)")
	fs.StringVarP(&f.host, "host", "h", "", "`host` of the server (default "+defaultHost+" with -p)")
	fs.IntVarP(&f.port, "port", "p", 0, "`port` of the server (default "+strconv.Itoa(defaultPort)+" with -h)")
	fs.StringVarP(&f.socket, "socket", "s", "", "`path` of the server's unix socket")
	fs.StringVarP(&f.password, "pass", "a", "", "`password`; better in EVENKEEL_PASSWORD, REDISCLI_AUTH or --password-file")
	fs.StringVar(&f.passwordFile, "password-file", "", "`file` with the password on its first line")
	fs.StringVar(&f.user, "user", "", "ACL user `name` to log in as")
	fs.IntVarP(&f.db, "db", "n", 0, "database `number`")
	fs.BoolVar(&f.tls, "tls", false, "use TLS")
	fs.StringVar(&f.cacert, "cacert", "", "`file` of CA certificates to trust instead of the system's")
	fs.StringVar(&f.cert, "cert", "", "`file` of the client's certificate")
	fs.StringVar(&f.key, "key", "", "`file` of the client's private key")
	fs.StringVar(&f.sni, "sni", "", "`name` to ask for and to check in the server's certificate")
	fs.BoolVar(&f.insecure, "insecure", false, "do not check the server's certificate")
}

// target turns the flags into the server to measure, the password's other
// sources included. Flags come before what the URL says.
func (s *session) target(f *serverFlags, fs *pflag.FlagSet) (bench.Target, error) {
	u := endpointURL{Target: bench.Target{Network: "tcp"}}
	switch {
	case fs.Changed("url"):
		for _, other := range []string{"host", "port", "socket"} {
			if fs.Changed(other) {
				return bench.Target{}, fmt.Errorf("--url already names the server; leave out --%s", other)
			}
		}
		var err error
		if u, err = parseURL(f.url); err != nil {
			return bench.Target{}, fmt.Errorf("--url: %w", err)
		}
		if u.Password != "" {
			s.say(argvWarning("--url"))
		}
		if len(u.ignored) > 0 {
			s.say("note: settings of a pool or client in the URL are not used here: " + strings.Join(u.ignored, ", "))
		}
	case fs.Changed("socket"):
		if fs.Changed("host") || fs.Changed("port") {
			return bench.Target{}, errors.New("-s and -h or -p name two servers; give one of them")
		}
		u.Network, u.Address = "unix", f.socket
	case fs.Changed("host") || fs.Changed("port"):
		u.Address = net.JoinHostPort(orElse(f.host, defaultHost), strconv.Itoa(orElse(f.port, defaultPort)))
	default:
		return bench.Target{}, f.refuseWithoutServer(fs)
	}
	t := u.Target
	if fs.Changed("db") {
		t.DB = f.db
	}
	if fs.Changed("user") {
		t.Username = f.user
	}
	var err error
	if t.Password, err = s.choosePassword(f, fs, t.Password); err != nil {
		return bench.Target{}, err
	}
	s.secret = t.Password
	if t.TLS, err = f.tlsConfig(fs, u); err != nil {
		return bench.Target{}, err
	}
	return t, nil
}

// orElse returns v, or other if v is zero.
func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

func argvWarning(flag string) string {
	return "warning: other users of this machine can read a password in " + flag + "; better put it in EVENKEEL_PASSWORD, REDISCLI_AUTH or --password-file"
}

// refuseWithoutServer refuses flags that only make sense with a server, which
// would otherwise seem to be obeyed by a private one.
func (f *serverFlags) refuseWithoutServer(fs *pflag.FlagSet) error {
	for _, name := range []string{"pass", "password-file", "user", "db", "tls", "cacert", "cert", "key", "sni", "insecure"} {
		if fs.Changed(name) {
			return fmt.Errorf("--%s needs a server; give --url, -h or -s", name)
		}
	}
	return nil
}

// choosePassword returns the password from the first place that has one: -a,
// --password-file, the URL, EVENKEEL_PASSWORD, REDISCLI_AUTH.
func (s *session) choosePassword(f *serverFlags, fs *pflag.FlagSet, fromURL string) (string, error) {
	if fs.Changed("pass") {
		if fs.Changed("password-file") {
			return "", errors.New("-a and --password-file give two passwords; leave one out")
		}
		s.say(argvWarning("-a"))
		return f.password, nil
	}
	if fs.Changed("password-file") {
		b, err := os.ReadFile(f.passwordFile)
		if err != nil {
			return "", fmt.Errorf("--password-file: %w", err)
		}
		first, _, _ := strings.Cut(string(b), "\n")
		if first = strings.TrimSuffix(first, "\r"); first == "" {
			return "", fmt.Errorf("--password-file: the first line of %s is empty", f.passwordFile)
		}
		return first, nil
	}
	for _, p := range []string{fromURL, s.Getenv("EVENKEEL_PASSWORD"), s.Getenv("REDISCLI_AUTH")} {
		if p != "" {
			return p, nil
		}
	}
	return "", nil
}

// tlsConfig returns nil for a plain connection.
func (f *serverFlags) tlsConfig(fs *pflag.FlagSet, u endpointURL) (*tls.Config, error) {
	if !f.tls && !u.tls {
		for _, name := range []string{"cacert", "cert", "key", "sni", "insecure"} {
			if fs.Changed(name) {
				return nil, fmt.Errorf("--%s needs TLS; add --tls or give a rediss:// URL", name)
			}
		}
		return nil, nil
	}
	cacert, cert, key := orElse(f.cacert, u.cacert), orElse(f.cert, u.cert), orElse(f.key, u.key)
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: f.sni,
		// The user asked for it by name.
		InsecureSkipVerify: f.insecure || u.insecure,
	}
	if c.ServerName == "" {
		// Not there for a unix socket, which then needs --sni or --insecure.
		c.ServerName, _, _ = net.SplitHostPort(u.Address)
	}
	if cacert != "" {
		pem, err := os.ReadFile(cacert)
		if err != nil {
			return nil, fmt.Errorf("--cacert: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--cacert: %s holds no certificate in PEM form", cacert)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("--cert and --key belong together; give both")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("--cert and --key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
