package evenkeel

import (
	"slices"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/typo"
)

// urlParameter is a query parameter of a URL. docs/url-parameters.md is made from the table of them.
type urlParameter struct {
	name  string
	from  string // whose name it is
	kind  urlKind
	field string // what it sets, a field of Config or one of the names below; "": nothing, it is read so that a URL can be shared with programs for which it does
	doc   string
}

// Whose names they are.
const (
	own      = ""
	goRedis  = "go-redis"
	redisPy  = "redis-py"
	bothLibs = goRedis + ", " + redisPy
)

// What is set beneath Config.TLS.
const (
	fieldServerName  = "TLS.ServerName"
	fieldInsecure    = "TLS.InsecureSkipVerify"
	fieldNoNameCheck = "TLS.VerifyConnection"
	fieldRoots       = "TLS.RootCAs"
	fieldCert        = "TLS.Certificates"
	fieldKey         = "TLS.Certificates, key"
)

// urlParameters are all parameters, in the order of the documentation. It is read only.
var urlParameters = []urlParameter{
	{"db", bothLibs, kindCount, "DB", "The database; for unix:// the only way to give one."},
	{"username", redisPy, kindText, "Username", "The user; better before the @."},
	{"password", redisPy, kindText, "Password", "The password; better before the @. Here + means a blank."},
	{"client_name", bothLibs, kindText, "ClientName", "The name that CLIENT LIST shows."},
	{"protocol", bothLibs, kindProtocol, "Protocol", "2 or 3; 0 for 3 with a fall-back to 2."},

	{"max_conns", own, kindAtLeastOne, "MaxConns", "The most conns, everything included."},
	{"max_active_conns", goRedis, kindAtLeastOne, "MaxConns", "As max_conns. 0, no limit in go-redis, is refused: there is always a limit."},
	{"max_connections", redisPy, kindAtLeastOne, "MaxConns", "As max_conns."},
	{"shared_conns", own, kindAtLeastOne, "SharedConns", "Conns that all callers pipeline on."},
	{"size", own, kindCount, "Size", "Exclusive conns kept for good."},
	{"pool_size", goRedis, kindCount, "Size", "As size: most work needs none of them, since callers share conns."},
	{"overflow", own, kindCount, "Overflow", "Exclusive conns besides, for a burst."},
	{"max_blocking", own, kindCount, "MaxBlocking", "Commands that wait on the server at a time."},
	{"min_idle_conns", goRedis, kindCount, "MinIdleConns", "Exclusive conns opened beforehand. Size grows to it unless it is given."},

	{"overflow_drain", own, kindDuration, "OverflowDrain", "The time in which conns above Size leave."},
	{"create_burst", own, kindCount, "CreateBurst", "Overflow conns that may be opened at once."},
	{"create_interval", own, kindDuration, "CreateInterval", "And then one in this time."},
	{"max_conn_idle_time", own, kindDuration, "MaxConnIdleTime", "The idle time after which a conn is closed; 0: never."},
	{"conn_max_idle_time", goRedis, kindLooseDuration, "MaxConnIdleTime", "As max_conn_idle_time."},
	{"idle_timeout", goRedis, kindLooseDuration, "MaxConnIdleTime", "As max_conn_idle_time; the name of go-redis 8."},
	{"max_conn_lifetime", own, kindDuration, "MaxConnLifetime", "The age at which a conn is replaced; 0: never."},
	{"conn_max_lifetime", goRedis, kindLooseDuration, "MaxConnLifetime", "As max_conn_lifetime."},
	{"max_conn_age", goRedis, kindLooseDuration, "MaxConnLifetime", "As max_conn_lifetime; the name of go-redis 8."},
	{"validate_after", own, kindDuration, "ValidateAfter", "The idle time after which a conn is looked at before use; more than 0."},
	{"ping_interval", own, kindDuration, "PingInterval", "The idle time after which a conn is pinged; 0: never."},
	{"health_check_interval", redisPy, kindLooseDuration, "PingInterval", "As ping_interval: pings run in the background and delay no command."},

	{"max_waiters", own, kindCount, "MaxWaiters", "Callers that may wait for an exclusive conn; at least 1."},
	{"acquire_timeout", own, kindDuration, "AcquireTimeout", "The longest wait for an exclusive conn; 0: the call's own limit."},
	{"pool_timeout", goRedis, kindLooseDuration, "AcquireTimeout", "As acquire_timeout."},
	{"timeout", redisPy, kindLooseDuration, "AcquireTimeout", "As acquire_timeout."},
	{"wait_while_down", own, kindBool, "WaitWhileDown", "Wait while the endpoint refuses conns, instead of failing at once."},
	{"codel", own, kindBool, "Overload.CoDel", "Shed callers that waited too long under lasting overload."},
	{"early_reject", own, kindBool, "Overload.EarlyReject", "Refuse callers at random before the queue is full."},
	{"leak_threshold", own, kindDuration, "LeakThreshold", "The time after which a held exclusive conn is reported; 0: never."},

	{"dial_timeout", goRedis, kindLooseDuration, "DialTimeout", "The limit of a dial, handshake included."},
	{"socket_connect_timeout", redisPy, kindLooseDuration, "DialTimeout", "As dial_timeout."},
	{"command_timeout", own, kindDuration, "CommandTimeout", "The limit of a whole call without a deadline of its own; 0: none."},
	{"read_timeout", goRedis, kindLooseDuration, "CommandTimeout", "As command_timeout: it counts waiting, writing and retries too."},
	{"socket_timeout", redisPy, kindLooseDuration, "CommandTimeout", "As command_timeout: it counts waiting, writing and retries too."},
	{"stall_timeout", own, kindDuration, "StallTimeout", "How late a reply may be before its conn is given up; 0: never."},
	{"user_timeout", own, kindDuration, "UserTimeout", "TCP_USER_TIMEOUT; 0: the kernel's own."},
	{"max_retries", goRedis, kindRetries, "MaxRetries", "Repetitions of a command; 0 and -1: none. (In go-redis 0 means 3.)"},
	{"lane_threshold", own, kindCount, "LaneThreshold", "Bytes from which a request uses an exclusive conn; 0: never."},
	{"handshake_sequential", own, kindBool, "HandshakeSequential", "The handshake in several round trips; for measuring only."},

	{"server_name", own, kindText, fieldServerName, "The name in the server's certificate, if it is not the host."},
	{"sni", own, kindText, fieldServerName, "As server_name."},
	{"insecure", own, kindBool, fieldInsecure, "Trust any certificate: whoever is between reads and changes everything."},
	{"skip_verify", goRedis, kindBool, fieldInsecure, "As insecure."},
	{"ssl_cert_reqs", redisPy, kindCertReqs, fieldInsecure, "none is insecure=true; optional and required are both insecure=false."},
	{"ssl_check_hostname", redisPy, kindNotBool, fieldNoNameCheck, "false trusts a certificate of another host, if its chain is good."},
	{"cacert", own, kindText, fieldRoots, "The PEM file of the certificates to trust instead of the system's."},
	{"ssl_ca_certs", redisPy, kindText, fieldRoots, "As cacert."},
	{"cert", own, kindText, fieldCert, "The PEM file of the client's certificate and its chain."},
	{"ssl_certfile", redisPy, kindText, fieldCert, "As cert."},
	{"key", own, kindText, fieldKey, "The PEM file of its key."},
	{"ssl_keyfile", redisPy, kindText, fieldKey, "As key."},

	{"write_timeout", goRedis, kindLooseDuration, "", "CommandTimeout counts writing too."},
	{"pool_fifo", goRedis, kindBool, "", "The conn used last is used first, so that surplus ones grow idle."},
	{"max_idle_conns", goRedis, kindCount, "", "Size says how many conns stay, OverflowDrain how fast the rest leave."},
	{"max_concurrent_dials", goRedis, kindCount, "", "Two dials are under way at a time, one while the server fails."},
	{"conn_max_lifetime_jitter", goRedis, kindLooseDuration, "", "Lifetimes always have a jitter of 10 %."},
	{"min_retry_backoff", goRedis, kindLooseDuration, "", "Retries have a full jitter that starts at 8 ms."},
	{"max_retry_backoff", goRedis, kindLooseDuration, "", "Retries have a full jitter of at most 512 ms."},
	{"pipeline_pool_size", goRedis, kindCount, "", "Pipelines use the lanes that there are."},
	{"pipeline_read_buffer_size", goRedis, kindCount, "", "Buffers grow as they are needed, and shrink again."},
	{"pipeline_write_buffer_size", goRedis, kindCount, "", "Buffers grow as they are needed, and shrink again."},
	{"socket_keepalive", redisPy, kindBool, "", "Keep-alive is always on."},
	{"retry_on_timeout", redisPy, kindBool, "", "What may have run is not repeated unless it only reads."},
	{"decode_responses", redisPy, kindBool, "", "The getters of a Reply say what to decode to."},
}

// place is where the value of a field is kept: a pointer to an int, a duration, a bool or a string; nil for an unknown field.
func (p *urlParser) place(field string) any {
	switch field {
	case "DB":
		return &p.cfg.DB
	case "Username":
		return &p.cfg.Username
	case "Password":
		return &p.cfg.Password
	case "ClientName":
		return &p.cfg.ClientName
	case "Protocol":
		return &p.cfg.Protocol
	case "MaxConns":
		return &p.cfg.MaxConns
	case "SharedConns":
		return &p.cfg.SharedConns
	case "Size":
		return &p.cfg.Size
	case "Overflow":
		return &p.cfg.Overflow
	case "MaxBlocking":
		return &p.cfg.MaxBlocking
	case "MinIdleConns":
		return &p.cfg.MinIdleConns
	case "OverflowDrain":
		return &p.cfg.OverflowDrain
	case "CreateBurst":
		return &p.cfg.CreateBurst
	case "CreateInterval":
		return &p.cfg.CreateInterval
	case "MaxConnIdleTime":
		return &p.cfg.MaxConnIdleTime
	case "MaxConnLifetime":
		return &p.cfg.MaxConnLifetime
	case "ValidateAfter":
		return &p.cfg.ValidateAfter
	case "PingInterval":
		return &p.cfg.PingInterval
	case "MaxWaiters":
		return &p.cfg.MaxWaiters
	case "AcquireTimeout":
		return &p.cfg.AcquireTimeout
	case "WaitWhileDown":
		return &p.cfg.WaitWhileDown
	case "Overload.CoDel":
		return &p.cfg.Overload.CoDel
	case "Overload.EarlyReject":
		return &p.cfg.Overload.EarlyReject
	case "LeakThreshold":
		return &p.cfg.LeakThreshold
	case "DialTimeout":
		return &p.cfg.DialTimeout
	case "CommandTimeout":
		return &p.cfg.CommandTimeout
	case "StallTimeout":
		return &p.cfg.StallTimeout
	case "UserTimeout":
		return &p.cfg.UserTimeout
	case "MaxRetries":
		return &p.cfg.MaxRetries
	case "LaneThreshold":
		return &p.cfg.LaneThreshold
	case "HandshakeSequential":
		return &p.cfg.HandshakeSequential
	case fieldServerName:
		return &p.certs.serverName
	case fieldInsecure:
		return &p.certs.insecure
	case fieldNoNameCheck:
		return &p.certs.noNameCheck
	case fieldRoots:
		return &p.certs.roots
	case fieldCert:
		return &p.certs.cert
	case fieldKey:
		return &p.certs.key
	default:
		return nil
	}
}

// store keeps the value of a field, and reports whether the field can hold it.
func (p *urlParser) store(field string, value any) bool {
	switch place := p.place(field).(type) {
	case *int:
		return assign(place, value)
	case *time.Duration:
		return assign(place, value)
	case *bool:
		return assign(place, value)
	case *string:
		return assign(place, value)
	default:
		return false
	}
}

func assign[T any](place *T, value any) bool {
	v, ok := value.(T)
	if ok {
		*place = v
	}
	return ok
}

// nearNames are up to three parameters that a misspelled name may have meant: by the letters that differ, or by a common word.
func nearNames(name string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, u := range urlParameters {
		d := typo.Distance(name, u.name)
		flat := strings.ReplaceAll(u.name, "_", "")
		switch {
		case flat == strings.ReplaceAll(name, "_", ""):
			d = 0
		case d <= 1+len(name)/6:
		case len(name) >= 4 && (strings.HasPrefix(u.name, name) || strings.HasSuffix(u.name, "_"+name)):
			d = 8
		default:
			continue
		}
		found = append(found, candidate{u.name, d})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var names []string
	for _, c := range found[:min(len(found), 3)] {
		names = append(names, c.name)
	}
	return names
}
