package evenkeeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Option changes how a private server is started.
type Option func(*settings)

type settings struct {
	binary      string
	password    string
	users       []aclUser
	tls         bool
	authClients bool
	maxClients  int
	unixSocket  bool
	replicas    int
	config      [][2]string
	primaryPort int // of a replica
	cluster     bool
}

type aclUser struct {
	name, password string
	rules          []string
}

// WithBinary names the server program, by path or by a name on the PATH. Default:
// redis-server, else valkey-server.
func WithBinary(path string) Option { return func(s *settings) { s.binary = path } }

// WithPassword protects the default user.
func WithPassword(password string) Option { return func(s *settings) { s.password = password } }

// WithACLUser adds an enabled user. Without rules it may do everything.
func WithACLUser(name, password string, rules ...string) Option {
	return func(s *settings) { s.users = append(s.users, aclUser{name, password, rules}) }
}

// WithTLS opens a TLS port beside the plain one, with certificates made for this
// server alone; see [Server.TLSConfig]. The server program must have been built
// with TLS.
func WithTLS() Option { return func(s *settings) { s.tls = true } }

// WithTLSAuthClients sets whether clients must show a certificate on the TLS port;
// the default is no. It implies [WithTLS].
func WithTLSAuthClients(required bool) Option {
	return func(s *settings) { s.tls, s.authClients = true, required }
}

// WithMaxClients sets the server's limit of conns, at least 2. One of them is taken
// by the launcher's own control conn. Zero: the server's default.
func WithMaxClients(n int) Option { return func(s *settings) { s.maxClients = n } }

// WithUnixSocket makes the server listen on a unix socket too; see [Server.Socket].
func WithUnixSocket() Option { return func(s *settings) { s.unixSocket = true } }

// WithReplicas starts n replicas, and waits until they are in step; see
// [Server.Replicas].
func WithReplicas(n int) Option { return func(s *settings) { s.replicas = n } }

// WithConfig adds a line to the configuration. The value is passed as one argument
// unless it has blanks, which separate arguments; use the empty string for "".
func WithConfig(key, value string) Option {
	return func(s *settings) { s.config = append(s.config, [2]string{key, value}) }
}

func (s *settings) validate() error {
	switch {
	case s.maxClients < 0 || s.maxClients == 1:
		return errors.New("evenkeeltest: WithMaxClients needs at least 2: the control conn takes one")
	case s.replicas < 0:
		return errors.New("evenkeeltest: WithReplicas needs a number that is not negative")
	}
	for _, u := range s.users {
		if u.name == "" || strings.ContainsAny(u.name, " \t\r\n\x00") {
			return fmt.Errorf("evenkeeltest: WithACLUser: %q is no user name", u.name)
		}
	}
	for _, kv := range s.config {
		if strings.ContainsAny(kv[0]+kv[1], "\r\n\x00") || kv[0] == "" {
			return fmt.Errorf("evenkeeltest: WithConfig: %q is not one line", kv[0])
		}
	}
	return nil
}

// defaultPassword returns the password of the default user, "" for none.
func (s *settings) defaultPassword() string {
	for _, u := range s.users {
		if u.name == "default" {
			return u.password
		}
	}
	return s.password
}

// layout is where a server listens and keeps its files.
type layout struct {
	port, tlsPort int
	busPort       int // of a cluster's node; 0: the server's default
	dir, socket   string
	debugCommand  bool
}

// configFile renders the server's configuration. It holds the password, so the
// file must be for the owner's eyes only.
func (s *settings) configFile(at layout) []byte {
	var b strings.Builder
	line := func(args ...string) {
		for i, a := range args {
			if i > 0 {
				b.WriteByte(' ')
				a = quote(a)
			}
			b.WriteString(a)
		}
		b.WriteByte('\n')
	}
	line("bind", "127.0.0.1")
	line("port", strconv.Itoa(at.port))
	line("dir", at.dir)
	line("daemonize", "no")
	line("save", "")
	line("appendonly", "no")
	// Replicas must be in step at once, not after the default of 5 s.
	line("repl-diskless-sync-delay", "0")
	if at.debugCommand {
		line("enable-debug-command", "local")
	}
	if s.password != "" {
		line("requirepass", s.password)
	}
	for _, u := range s.users {
		sum := sha256.Sum256([]byte(u.password))
		args := []string{"user", u.name, "on", "#" + hex.EncodeToString(sum[:])}
		if len(u.rules) == 0 {
			args = append(args, "~*", "&*", "+@all")
		}
		line(append(args, u.rules...)...)
	}
	if s.cluster {
		line("cluster-enabled", "yes")
		line("cluster-node-timeout", "5000")
		if at.busPort != 0 {
			line("cluster-port", strconv.Itoa(at.busPort))
		}
		if s.password != "" {
			line("masterauth", s.password)
		}
	}
	if s.maxClients > 0 {
		line("maxclients", strconv.Itoa(s.maxClients))
	}
	if at.socket != "" {
		line("unixsocket", at.socket)
		line("unixsocketperm", "700")
	}
	if s.tls {
		line("tls-port", strconv.Itoa(at.tlsPort))
		line("tls-cert-file", certPath(at.dir, "server"))
		line("tls-key-file", keyPath(at.dir, "server"))
		line("tls-ca-cert-file", certPath(at.dir, "ca"))
		line("tls-auth-clients", yesNo(s.authClients))
	}
	if s.primaryPort != 0 {
		line("replicaof", "127.0.0.1", strconv.Itoa(s.primaryPort))
		if p := s.defaultPassword(); p != "" {
			line("masterauth", p)
		}
	}
	for _, kv := range s.config {
		args := strings.Fields(kv[1])
		if len(args) == 0 {
			args = []string{""}
		}
		line(append([]string{kv[0]}, args...)...)
	}
	return []byte(b.String())
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// quote writes an argument as the server's configuration reader takes it.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
