package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel"
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
	f.registerLogin(fs)
}

// registerLogin is for commands that are told in another way where the servers are.
func (f *serverFlags) registerLogin(fs *pflag.FlagSet) {
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
func (s *session) target(ctx context.Context, f *serverFlags, fs *pflag.FlagSet) (bench.Target, error) {
	t := bench.Target{Network: "tcp"}
	// As with an unset variable of a shell: to go on with another server than was meant would be the worst answer.
	for _, name := range []string{"url", "host", "socket"} {
		if fs.Changed(name) && fs.Lookup(name).Value.String() == "" {
			return bench.Target{}, fmt.Errorf("--%s is empty; give a value, or leave it out for a private server", name)
		}
	}
	if fs.Changed("port") && (f.port < 1 || f.port > 65535) {
		return bench.Target{}, fmt.Errorf("--port: %d is out of bounds; give 1 to 65535", f.port)
	}
	var err error
	switch {
	case fs.Changed("url"):
		for _, other := range []string{"host", "port", "socket"} {
			if fs.Changed(other) {
				return bench.Target{}, fmt.Errorf("--url already names the server; leave out --%s", other)
			}
		}
		if t, err = s.fromURL("--url", f.url); err != nil {
			return bench.Target{}, err
		}
	case fs.Changed("socket"):
		if fs.Changed("host") || fs.Changed("port") {
			return bench.Target{}, errors.New("-s and -h or -p name two servers; give one of them")
		}
		t.Network, t.Address = "unix", f.socket
	case fs.Changed("host") || fs.Changed("port"):
		t.Address = net.JoinHostPort(orElse(f.host, defaultHost), strconv.Itoa(orElse(f.port, defaultPort)))
	default:
		return bench.Target{}, f.refuseWithoutServer(fs)
	}
	return s.login(ctx, f, fs, t)
}

// login adds to an endpoint what the flags say besides: database, credentials, TLS.
func (s *session) login(ctx context.Context, f *serverFlags, fs *pflag.FlagSet, t bench.Target) (_ bench.Target, err error) {
	if fs.Changed("db") {
		t.DB = f.db
	}
	if fs.Changed("user") {
		t.Username = f.user
	}
	if t.Password, err = s.choosePassword(ctx, f, fs, t.Password); err != nil {
		return bench.Target{}, err
	}
	s.secrets = append(s.secrets, t.Password)
	if t.TLS, err = f.tlsConfig(ctx, fs, t); err != nil {
		return bench.Target{}, err
	}
	return t, nil
}

// fromURL reads a URL as the client does; name is the argument that has it. What it
// says about the client's pool is not for experiments, which set up their own.
func (s *session) fromURL(name, raw string) (bench.Target, error) {
	cfg, err := evenkeel.ParseURL(raw)
	if bad, ok := errors.AsType[*evenkeel.URLError](err); ok {
		return bench.Target{}, fmt.Errorf("%s: %s %s", name, bad.Part, bad.Msg)
	}
	if err != nil {
		return bench.Target{}, fmt.Errorf("%s: %w", name, err)
	}
	if cfg.Password != "" {
		s.say(argvWarning(name))
	}
	if ignored := ignoredParameters(raw); len(ignored) > 0 {
		s.say("note: settings of a pool or client in the URL are not used here: " + strings.Join(ignored, ", "))
	}
	return bench.Target{Network: cfg.Network, Address: cfg.Addr, Username: cfg.Username, Password: cfg.Password, DB: cfg.DB, TLS: cfg.TLS}, nil
}

// ignoredParameters lists the parameters of a good URL that say nothing about the
// server.
func ignoredParameters(raw string) []string {
	_, rawQuery, _ := strings.Cut(raw, "?")
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil
	}
	var names []string
	for name := range query {
		switch name {
		case "db", "username", "password", "server_name", "sni", "insecure", "skip_verify", "cacert", "cert", "key":
		default:
			if !strings.HasPrefix(name, "ssl_") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
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
func (s *session) choosePassword(ctx context.Context, f *serverFlags, fs *pflag.FlagSet, fromURL string) (string, error) {
	if fs.Changed("pass") {
		if fs.Changed("password-file") {
			return "", errors.New("-a and --password-file give two passwords; leave one out")
		}
		s.warn(argvWarning("-a"))
		return f.password, nil
	}
	if fs.Changed("password-file") {
		b, err := readFile(ctx, "password-file", f.passwordFile)
		if err != nil {
			return "", err
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

// tlsConfig returns nil for a plain connection. It begins with what the URL says.
func (f *serverFlags) tlsConfig(ctx context.Context, fs *pflag.FlagSet, t bench.Target) (*tls.Config, error) {
	c := t.TLS
	if c == nil {
		if !f.tls {
			for _, name := range []string{"cacert", "cert", "key", "sni", "insecure"} {
				if fs.Changed(name) {
					return nil, fmt.Errorf("--%s needs TLS; add --tls or give a rediss:// URL", name)
				}
			}
			return nil, nil
		}
		c = &tls.Config{MinVersion: tls.VersionTLS12}
		// Not there for a unix socket, which then needs --sni or --insecure.
		c.ServerName, _, _ = net.SplitHostPort(t.Address)
	}
	if fs.Changed("sni") {
		c.ServerName = f.sni
	}
	if f.insecure {
		c.InsecureSkipVerify = true // the user asked for it by name
	}
	if f.cacert != "" {
		pem, err := readFile(ctx, "cacert", f.cacert)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--cacert: %s holds no certificate in PEM form", f.cacert)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("--cert and --key belong together; give both")
	}
	if f.cert != "" {
		cert, err := readFile(ctx, "cert", f.cert)
		if err != nil {
			return nil, err
		}
		key, err := readFile(ctx, "key", f.key)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("--cert and --key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
