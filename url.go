package evenkeel

import (
	"crypto/tls"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// defaultPort is the port of a URL that has none.
const defaultPort = "6379"

// URLError says what is wrong with a URL. It is safe to log: it quotes nothing of the URL but the names of parameters, and of these none that could be a
// piece of a password.
type URLError struct {
	// Part is what is wrong: "scheme", "user", "password", "host", "port", "database", "path", "fragment", "query", "URL", or the name of a parameter.
	Part string
	// Msg says what is wrong with it and what to write instead.
	Msg string
	// Err is the cause, such as a file that cannot be read, or nil.
	Err error
}

// Error describes the part and the remedy.
func (e *URLError) Error() string { return "evenkeel: URL: " + e.Part + " " + e.Msg }

// Unwrap returns the cause, or nil.
func (e *URLError) Unwrap() error { return e.Err }

// ParseURL returns the Config that a URL describes, with the defaults for all that it does not:
//
//	redis://[[user]:password@][host][:port][/database][?parameter=value&…]
//	rediss://…                                          the same over TLS
//	unix://[[user]:password@]/path/of/socket[?db=database&…]
//
// valkey:// and valkeys:// are redis:// and rediss://. The host is localhost and the port 6379 unless given; an IPv6 address stands in brackets. Percent
// signs escape, as in %40 for @, which a user, a password or the path of a socket may need. TLS is version 1.2 or later, and the certificate must be the host's;
// DialTimeout is then [DefaultDialTimeoutTLS].
//
// Parameters are those of our own fields in snake case, such as max_conns=128 or stall_timeout=3s, and those of go-redis and redis-py with the units they have there. A
// duration is one of Go's, such as 500ms, or a number of seconds. A parameter without a value counts as absent. docs/url-parameters.md lists them all.
// The certificates and keys that parameters name are read at once.
//
// Overflow becomes what the other lanes leave of MaxConns, unless it is given. MaxConns grows to what the lanes that are given need, unless it is given
// too; if it is, the lanes that are not given shrink to fit into it.
//
// Errors are of type *[URLError]: a URL that is not well formed, a parameter that is unknown, comes twice, has a value that it cannot have, or contradicts
// another. Whether the settings make sense together is judged by [Config.Validate], which New calls. ParseURL never connects and resolves no name.
func ParseURL(rawURL string) (Config, error) {
	cfg, err := parseURL(rawURL, readSmallFile)
	if err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// parseURL takes the URL apart by hand: net/url quotes what it refuses, and what it refuses may be half a password.
func parseURL(rawURL string, readFile func(string) ([]byte, error)) (Config, error) {
	if strings.ContainsFunc(rawURL, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return Config{}, &URLError{Part: "URL", Msg: "has a blank, a line end or a control character in it; write %20 for a blank"}
	}
	scheme, rest, ok := strings.Cut(rawURL, "://")
	if !ok {
		return Config{}, &URLError{Part: "scheme", Msg: "is missing; write it as in redis://localhost:6379/0"}
	}
	rest, _, fragment := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		authority, path = rest[:slash], rest[slash:]
	}
	p := urlParser{readFile: readFile, given: map[string]any{}, by: map[string]string{}}
	if !strings.Contains(authority, "@") && strings.Contains(rawURL[len(scheme)+len("://")+len(authority):], "@") {
		// What looks like a path, a query or a fragment may be the end of a password.
		p.cut = true
	}
	bad := &URLError{Part: "fragment", Msg: "is not allowed; write %23 for a # in a password"}
	if !fragment {
		bad = p.parse(strings.ToLower(scheme), authority, path, query)
	}
	if bad == nil {
		return p.cfg, nil
	}
	if p.cut {
		bad.Msg += "; there is an @ after the host: if it ends a password, write %2F for /, %3F for ?, %23 for # and %40 for @ in the password"
	}
	return Config{}, bad
}

// urlParser is one URL on its way into a Config.
type urlParser struct {
	cfg      Config
	readFile func(string) ([]byte, error)
	cut      bool // quote nothing: the password may have been taken for something else

	given map[string]any    // by field: the value that the URL gives it
	by    map[string]string // by field: the part of the URL that gave it
	certs certOptions
}

func (p *urlParser) parse(scheme, authority, path, query string) *URLError {
	secure := false
	switch scheme {
	case "redis", "valkey", "unix":
	case "rediss", "valkeys":
		secure = true
	default:
		return &URLError{Part: "scheme", Msg: "is unknown; redis, rediss, valkey, valkeys and unix are known"}
	}
	user, host := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, host = authority[:at], authority[at+1:]
	}
	var serverName string
	var bad *URLError
	if scheme == "unix" {
		bad = p.socket(host, path)
	} else {
		serverName, bad = p.server(host, path)
	}
	if bad == nil {
		bad = p.user(user)
	}
	if bad == nil {
		bad = p.parameters(query)
	}
	if bad == nil {
		bad = p.tls(secure, serverName)
	}
	if bad == nil {
		p.fit()
	}
	return bad
}

func (p *urlParser) user(user string) *URLError {
	name, password, _ := strings.Cut(user, ":")
	var err error
	if name, err = url.PathUnescape(name); err != nil {
		return &URLError{Part: "user", Msg: "has a % that escapes nothing; write %25 for a %"}
	}
	if password, err = url.PathUnescape(password); err != nil {
		return &URLError{Part: "password", Msg: "has a % that escapes nothing; write %25 for a %"}
	}
	if name != "" {
		p.cfg.Username, p.given["Username"], p.by["Username"] = name, name, "the user before the @"
	}
	if password != "" {
		p.cfg.Password, p.given["Password"], p.by["Password"] = password, password, "the password before the @"
	}
	return nil
}

func (p *urlParser) socket(host, path string) *URLError {
	if host != "" {
		return &URLError{Part: "host", Msg: "is not used by unix; write three slashes, as in unix:///run/redis.sock"}
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return &URLError{Part: "path", Msg: "has a % that escapes nothing; write %25 for a %"}
	}
	if strings.Trim(path, "/") == "" || strings.ContainsRune(path, 0) {
		return &URLError{Part: "path", Msg: "of the socket is missing; write it as in unix:///run/redis.sock?db=0"}
	}
	p.cfg = DefaultConfig(path)
	p.cfg.Network = "unix"
	return nil
}

// server reads host, port and database, and returns the name that the server's certificate should bear.
func (p *urlParser) server(host, path string) (serverName string, bad *URLError) {
	port := defaultPort
	switch end := strings.LastIndexByte(host, ']'); {
	case strings.HasPrefix(host, "[") && end > 0:
		if after := host[end+1:]; after != "" {
			if after[0] != ':' {
				return "", &URLError{Part: "host", Msg: "has something other than a port after the bracket"}
			}
			port = after[1:]
		}
		name, err := url.PathUnescape(host[1:end])
		if err != nil {
			return "", &URLError{Part: "host", Msg: "has a % that escapes nothing; write %25 before a zone"}
		}
		if addr, err := netip.ParseAddr(name); err != nil || !addr.Is6() {
			return "", &URLError{Part: "host", Msg: "in brackets is no IPv6 address"}
		}
		host = name
	case strings.Contains(host, ","):
		return "", &URLError{Part: "host", Msg: "is a list; give one server"}
	case strings.Count(host, ":") > 1:
		return "", &URLError{Part: "host", Msg: "has several colons; write an IPv6 address in brackets, as in redis://[::1]:6379"}
	default:
		var hasPort bool
		var given string
		if host, given, hasPort = strings.Cut(host, ":"); hasPort {
			port = given
		}
		if strings.ContainsFunc(host, func(r rune) bool { return !isHostRune(r) }) {
			return "", &URLError{Part: "host", Msg: "has a character that no host name has"}
		}
	}
	if host == "" {
		host = "localhost"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", &URLError{Part: "port", Msg: "must be a number from 1 to 65535"}
	}
	p.cfg = DefaultConfig(net.JoinHostPort(host, port))
	if db := strings.Trim(path, "/"); db != "" {
		n, err := strconv.ParseUint(db, 10, 31)
		if err != nil {
			return "", &URLError{Part: "database", Msg: "must be a number from 0, as in redis://localhost:6379/0"}
		}
		p.cfg.DB, p.given["DB"], p.by["DB"] = int(n), int(n), "the path"
	}
	serverName, _, _ = strings.Cut(host, "%") // a zone is no part of a certificate
	return serverName, nil
}

// isHostRune allows what host names and IPv4 addresses have, and letters beyond ASCII, which are the resolver's affair.
func isHostRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' || r >= 0x80
}

func (p *urlParser) parameters(query string) *URLError {
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(rawName)
		at := slices.IndexFunc(urlParameters, func(u urlParameter) bool { return u.name == name })
		if nameErr != nil || at < 0 {
			return p.unknown(name)
		}
		if seen[name] {
			return &URLError{Part: name, Msg: "is given twice"}
		}
		seen[name] = true
		text, err := url.QueryUnescape(rawValue)
		if err != nil {
			return &URLError{Part: name, Msg: "has a % that escapes nothing; write %25 for a %"}
		}
		if text == "" {
			continue
		}
		if bad := p.set(&urlParameters[at], text); bad != nil {
			return bad
		}
	}
	return nil
}

// set stores the value of a parameter.
func (p *urlParser) set(u *urlParameter, text string) *URLError {
	value, want := u.kind.parse(text)
	if want != "" {
		return &URLError{Part: u.name, Msg: "must be " + want}
	}
	if u.field == "" {
		return nil
	}
	if before, ok := p.given[u.field]; ok && before != value {
		return &URLError{Part: u.name, Msg: "contradicts " + p.by[u.field] + ": both set " + u.field}
	}
	p.given[u.field], p.by[u.field] = value, u.name
	if !p.store(u.field, value) {
		return &URLError{Part: u.name, Msg: "cannot be set by a URL"}
	}
	return nil
}

func (p *urlParser) unknown(name string) *URLError {
	if p.cut || name == "" || len(name) > 40 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return &URLError{Part: "query", Msg: "has a parameter whose name no parameter has; docs/url-parameters.md lists them"}
	}
	near := nearNames(name)
	if len(near) == 0 {
		return &URLError{Part: "query", Msg: "has the unknown parameter " + name + "; docs/url-parameters.md lists them"}
	}
	return &URLError{Part: "query", Msg: "has the unknown parameter " + name + "; did you mean " + strings.Join(near, " or ") + "?"}
}

// fit makes room among the lanes: see ParseURL.
func (p *urlParser) fit() {
	c := &p.cfg
	given := func(field string) bool { _, ok := p.given[field]; return ok }
	if !given("Size") && given("MinIdleConns") {
		c.Size = max(c.Size, c.MinIdleConns)
	}
	if !given("MaxConns") {
		need := c.SharedConns + 1 + c.Size + c.MaxBlocking
		if given("Overflow") {
			need += c.Overflow
		}
		c.MaxConns = max(c.MaxConns, need)
	}
	if !given("SharedConns") && c.MaxConns < 6 {
		c.SharedConns = 1
	}
	left := c.MaxConns - c.SharedConns - 1
	if given("Overflow") {
		left -= c.Overflow
	}
	left = max(left, 0)
	switch sized, blocking := given("Size"), given("MaxBlocking"); {
	case sized && !blocking:
		c.MaxBlocking = min(c.MaxBlocking, max(left-c.Size, 0))
	case !sized && blocking:
		c.Size = min(c.Size, max(left-c.MaxBlocking, 0))
	case !sized && !blocking:
		// The exclusive lane serves everybody, the blocking lane few: of a small budget it gets the larger half.
		c.Size = max(min(c.Size, left-left/2), min(c.MinIdleConns, left))
		c.MaxBlocking = min(c.MaxBlocking, left-c.Size)
	}
	if !given("Overflow") {
		c.fitLanes()
	}
}

// tls makes the TLS settings, which only the secure schemes have.
func (p *urlParser) tls(secure bool, serverName string) *URLError {
	if !secure {
		for _, field := range tlsFields {
			if name, ok := p.by[field]; ok {
				return &URLError{Part: name, Msg: "is for TLS; use it with rediss:// or valkeys://"}
			}
		}
		return nil
	}
	if _, ok := p.given["DialTimeout"]; !ok {
		p.cfg.DialTimeout = DefaultDialTimeoutTLS
	}
	p.cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: serverName}
	return p.certs.apply(p)
}

// maxFile is more than any bundle of certificates has.
const maxFile = 4 << 20

// readSmallFile reads a file whose name a URL gave, and no pipe or device, which might never end.
func readSmallFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, &os.PathError{Op: "read", Path: name, Err: os.ErrInvalid}
	}
	return os.ReadFile(name)
}
