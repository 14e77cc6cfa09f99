package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel/bench"
)

// endpointURL is what a URL says about a server.
type endpointURL struct {
	bench.Target
	tls, insecure     bool
	cacert, cert, key string
	// ignored are parameters that go-redis and redis-py know and that set up a
	// pool or a client, which flags do here.
	ignored []string
}

// parseURL reads a server's URL. Its errors never quote the URL, which may hold
// a password.
func parseURL(raw string) (endpointURL, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Host == "" && u.Scheme != "unix") {
		return endpointURL{}, errors.New("not a URL; give redis://user:password@host:port/db, with special characters in the password percent-encoded")
	}
	e := endpointURL{Target: bench.Target{Network: "tcp", Username: u.User.Username()}}
	e.Password, _ = u.User.Password()
	switch u.Scheme {
	case "redis", "valkey":
	case "rediss", "valkeys":
		e.tls = true
	case "unix":
		e.Network = "unix"
	default:
		return endpointURL{}, fmt.Errorf("scheme %q is unknown; give redis, rediss, valkey, valkeys or unix", u.Scheme)
	}
	if e.Network == "unix" {
		if e.Address = u.Host + u.Path; e.Address == "" {
			return endpointURL{}, errors.New("the socket's path is missing; give unix:///path/to/redis.sock")
		}
	} else {
		e.Address = net.JoinHostPort(orElse(u.Hostname(), defaultHost), orElse(u.Port(), strconv.Itoa(defaultPort)))
		if db := strings.Trim(u.Path, "/"); db != "" {
			if e.DB, err = parseDB(db); err != nil {
				return endpointURL{}, err
			}
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return endpointURL{}, errors.New("the parameters behind '?' are not name=value pairs joined by '&'")
	}
	for name, values := range query {
		if err := e.set(name, values[len(values)-1]); err != nil {
			return endpointURL{}, err
		}
	}
	slices.Sort(e.ignored)
	return e, nil
}

func parseDB(s string) (int, error) {
	db, err := strconv.Atoi(s)
	if err != nil || db < 0 {
		return 0, errors.New("the database is not a number; give redis://host:port/0")
	}
	return db, nil
}

// set obeys one parameter, under the names that go-redis and redis-py use.
func (e *endpointURL) set(name, value string) (err error) {
	switch name {
	case "db":
		e.DB, err = parseDB(value)
	case "username":
		e.Username = value
	case "password":
		e.Password = value
	case "skip_verify":
		if e.insecure, err = strconv.ParseBool(value); err != nil {
			return errors.New("skip_verify is neither true nor false")
		}
	case "ssl_cert_reqs":
		e.insecure = value == "none"
	case "ssl_ca_certs":
		e.cacert = value
	case "ssl_certfile":
		e.cert = value
	case "ssl_keyfile":
		e.key = value
	case "protocol", "client_name", "addr", "max_retries", "min_retry_backoff", "max_retry_backoff", "dial_timeout", "read_timeout", "write_timeout",
		"pool_fifo", "pool_size", "pool_timeout", "min_idle_conns", "max_idle_conns", "max_active_conns", "conn_max_idle_time", "conn_max_lifetime",
		"idle_timeout", "idle_check_frequency", "max_conn_age", "socket_timeout", "socket_connect_timeout", "socket_keepalive", "retry_on_timeout",
		"max_connections", "health_check_interval", "timeout", "decode_responses", "encoding", "ssl_check_hostname":
		e.ignored = append(e.ignored, name)
	default:
		return fmt.Errorf("parameter %q is unknown; leave it out", name)
	}
	return err
}
