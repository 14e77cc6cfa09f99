package evenkeel

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameConfig compares what a URL can set; TLS by the two fields that always are.
var sameConfig = cmp.Options{
	cmpopts.IgnoreUnexported(Config{}),
	cmpopts.IgnoreFields(Config{}, "Credentials", "Dialer", "Governor", "Hooks", "Logger"),
	cmp.Comparer(func(a, b *tls.Config) bool {
		return a == b || a != nil && b != nil && a.ServerName == b.ServerName && a.MinVersion == b.MinVersion && a.InsecureSkipVerify == b.InsecureSkipVerify
	}),
}

func TestParseURL(t *testing.T) {
	secure := func(c *Config, serverName string) {
		c.DialTimeout = 5 * time.Second
		c.TLS = &tls.Config{ServerName: serverName, MinVersion: tls.VersionTLS12}
	}
	for _, tt := range []struct {
		url, addr string
		change    func(*Config)
	}{
		{"redis://", "localhost:6379", nil},
		{"REDIS://localhost", "localhost:6379", nil},
		{"valkey://h:7000/", "h:7000", nil},
		{"redis://:7000", "localhost:7000", nil},
		{"redis://h/3", "h:6379", func(c *Config) { c.DB = 3 }},
		{"redis:///3", "localhost:6379", func(c *Config) { c.DB = 3 }},
		{"redis://h/3?db=3", "h:6379", func(c *Config) { c.DB = 3 }},
		{"redis://h?db=4&", "h:6379", func(c *Config) { c.DB = 4 }},
		{"redis://:pw@h", "h:6379", func(c *Config) { c.Password = "pw" }},
		{"redis://user:pw@h:1/2", "h:1", func(c *Config) { c.Username, c.Password, c.DB = "user", "pw", 2 }},
		{"redis://user@h?password=a%2Bb+c", "h:6379", func(c *Config) { c.Username, c.Password = "user", "a+b c" }},
		{"redis://u%3Aser:p%40s%2F%23%3F+:w@h", "h:6379", func(c *Config) { c.Username, c.Password = "u:ser", "p@s/#?+:w" }},
		{"redis://user:p@ss@h", "h:6379", func(c *Config) { c.Username, c.Password = "user", "p@ss" }},
		{"redis://h?client_name=a%40b", "h:6379", func(c *Config) { c.ClientName = "a@b" }},
		{"redis://h?client_name=a@b", "h:6379", func(c *Config) { c.ClientName = "a@b" }},
		{"redis://[::1]", "[::1]:6379", nil},
		{"redis://[2001:db8::1]:7000/1", "[2001:db8::1]:7000", func(c *Config) { c.DB = 1 }},
		{"redis://[fe80::1%25eth0]:1", "[fe80::1%eth0]:1", nil},
		{"rediss://h.example", "h.example:6379", func(c *Config) { secure(c, "h.example") }},
		{"valkeys://[::1]:1", "[::1]:1", func(c *Config) { secure(c, "::1") }},
		{"valkeys://[fe80::1%25eth0]:1", "[fe80::1%eth0]:1", func(c *Config) { secure(c, "fe80::1") }},
		{"rediss://h?dial_timeout=3", "h:6379", func(c *Config) { secure(c, "h"); c.DialTimeout = 3 * time.Second }},
		{"rediss://h?sni=other&server_name=other", "h:6379", func(c *Config) { secure(c, "other") }},
		{"rediss://h?skip_verify=true", "h:6379", func(c *Config) { secure(c, "h"); c.TLS.InsecureSkipVerify = true }},
		{"rediss://h?ssl_cert_reqs=none&insecure=1", "h:6379", func(c *Config) { secure(c, "h"); c.TLS.InsecureSkipVerify = true }},
		{"rediss://h?ssl_cert_reqs=required", "h:6379", func(c *Config) { secure(c, "h") }},
		{"unix:///run/redis.sock", "/run/redis.sock", nil},
		{"unix://u:p@/run/a%20b.sock?db=2", "/run/a b.sock", func(c *Config) { c.Username, c.Password, c.DB = "u", "p", 2 }},
		// A go-redis URL and a redis-py URL.
		{
			"redis://h?dial_timeout=3&read_timeout=6s&write_timeout=6s&max_retries=-1&pool_timeout=500ms&conn_max_idle_time=-1&pool_fifo=true&protocol=2", "h:6379",
			func(c *Config) {
				c.DialTimeout, c.CommandTimeout, c.MaxRetries, c.AcquireTimeout, c.MaxConnIdleTime, c.Protocol = 3*time.Second, 6*time.Second, 0, 500*time.Millisecond, 0, 2
			},
		},
		{
			"redis://h?socket_timeout=0.5&socket_connect_timeout=2.5&health_check_interval=30&timeout=20&decode_responses=True&socket_keepalive=yes", "h:6379",
			func(c *Config) {
				c.CommandTimeout, c.DialTimeout, c.PingInterval, c.AcquireTimeout = 500*time.Millisecond, 2500*time.Millisecond, 30*time.Second, 20*time.Second
			},
		},
		{"redis://h?read_timeout=&max_conns=", "h:6379", nil},
		{"redis://h?stall_timeout=0&command_timeout=0s&read_timeout=0", "h:6379", func(c *Config) { c.StallTimeout, c.CommandTimeout = 0, 0 }},
	} {
		got, err := ParseURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		want := DefaultConfig(tt.addr)
		if tt.change != nil {
			tt.change(&want)
		}
		if diff := cmp.Diff(want, got, sameConfig); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.url, diff)
		}
		if got.Username == "" || got.Password != "" {
			if err := got.Validate(); err != nil && got.ClientName == "" {
				t.Errorf("%s: %v", tt.url, err)
			}
		}
	}
}

// TestURLLanes: lanes that a URL does not give fit into what it does give.
func TestURLLanes(t *testing.T) {
	type lanes struct{ Max, Shared, Size, Overflow, Blocking int }
	for query, want := range map[string]lanes{
		"":                               {64, 2, 10, 19, 32},
		"pool_size=5":                    {64, 2, 5, 24, 32},
		"pool_size=100":                  {135, 2, 100, 0, 32},
		"pool_size=100&max_conns=100":    {100, 2, 100, 0, 0}, // cannot be; New says so
		"pool_size=100&max_conns=103":    {103, 2, 100, 0, 0},
		"size=0":                         {64, 2, 0, 0, 32},
		"max_conns=260":                  {260, 2, 10, 100, 32},
		"max_connections=10":             {10, 2, 4, 0, 3},
		"max_conns=4":                    {4, 1, 1, 0, 1},
		"max_conns=2":                    {2, 1, 0, 0, 0},
		"max_conns=40&max_blocking=30":   {40, 2, 7, 0, 30},
		"max_conns=40&overflow=20":       {40, 2, 9, 20, 8},
		"overflow=100":                   {145, 2, 10, 100, 32},
		"size=20&overflow=200":           {255, 2, 20, 200, 32},
		"min_idle_conns=20":              {64, 2, 20, 9, 32},
		"min_idle_conns=20&size=10":      {64, 2, 10, 19, 32}, // cannot be; New says so
		"shared_conns=4":                 {64, 4, 10, 17, 32},
		"shared_conns=4&max_conns=5":     {5, 4, 0, 0, 0},
		"max_blocking=0":                 {64, 2, 10, 51, 0},
		"max_conns=30&min_idle_conns=20": {30, 2, 20, 0, 7},
	} {
		c, err := ParseURL("redis://h?" + query)
		if got := (lanes{c.MaxConns, c.SharedConns, c.Size, c.Overflow, c.MaxBlocking}); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", query, got, err, want)
		}
		fits := !strings.HasSuffix(query, "max_conns=100") && !strings.HasSuffix(query, "&size=10")
		if valid := c.Validate(); (valid == nil) != fits {
			t.Errorf("%q: Validate says %v", query, valid)
		}
	}
}

func TestBadURLs(t *testing.T) {
	const cut = "; there is an @ after the host: if it ends a password, write %2F for /, %3F for ?, %23 for # and %40 for @ in the password"
	for _, tt := range []struct{ url, want string }{
		{"", "scheme is missing; write it as in redis://localhost:6379/0"},
		{"localhost:6379", "scheme is missing; write it as in redis://localhost:6379/0"},
		{"http://h", "scheme is unknown; redis, rediss, valkey, valkeys and unix are known"},
		{"redis://h\n", "URL has a blank, a line end or a control character in it; write %20 for a blank"},
		{"redis://h:", "port must be a number from 1 to 65535"},
		{"redis://h:0", "port must be a number from 1 to 65535"},
		{"redis://h:65536", "port must be a number from 1 to 65535"},
		{"redis://h:x", "port must be a number from 1 to 65535"},
		{"redis://::1:6379", "host has several colons; write an IPv6 address in brackets, as in redis://[::1]:6379"},
		{"redis://[::1", "host has several colons; write an IPv6 address in brackets, as in redis://[::1]:6379"},
		{"redis://[]", "host in brackets is no IPv6 address"},
		{"redis://[1.2.3.4]", "host in brackets is no IPv6 address"},
		{"redis://[::1]x", "host has something other than a port after the bracket"},
		{"redis://[::1%zz]", "host has a % that escapes nothing; write %25 before a zone"},
		{"redis://a:1,b:2", "host is a list; give one server"},
		{"redis://a%20b", "host has a character that no host name has"},
		{"redis://h/x", "database must be a number from 0, as in redis://localhost:6379/0"},
		{"redis://h/-1", "database must be a number from 0, as in redis://localhost:6379/0"},
		{"redis://h/1/2", "database must be a number from 0, as in redis://localhost:6379/0"},
		{"redis://h/2147483648", "database must be a number from 0, as in redis://localhost:6379/0"},
		{"redis://h#x", "fragment is not allowed; write %23 for a # in a password"},
		{"redis://u%:p@h", "user has a % that escapes nothing; write %25 for a %"},
		{"redis://u:p%2@h", "password has a % that escapes nothing; write %25 for a %"},
		{"unix://run/redis.sock", "host is not used by unix; write three slashes, as in unix:///run/redis.sock"},
		{"unix://", "path of the socket is missing; write it as in unix:///run/redis.sock?db=0"},
		{"unix:///%00", "path of the socket is missing; write it as in unix:///run/redis.sock?db=0"},
		{"redis://h?db=1&db=1", "db is given twice"},
		{"redis://h/1?db=2", "db contradicts the path: both set DB"},
		{"redis://u@h?username=v", "username contradicts the user before the @: both set Username"},
		{"redis://:a@h?password=b", "password contradicts the password before the @: both set Password"},
		{"redis://h?read_timeout=1&socket_timeout=2", "socket_timeout contradicts read_timeout: both set CommandTimeout"},
		{"redis://h?max_active_conns=0", "max_active_conns must be a number, 1 or more, and at most 100000000"},
		{"redis://h?size=-1", "size must be a number, 0 or more, and at most 100000000"},
		{"redis://h?size=100000001", "size must be a number, 0 or more, and at most 100000000"},
		{"redis://h?max_retries=-2", "max_retries must be a number, -1 or more, and at most 100000000"},
		{"redis://h?protocol=4", "protocol must be a number, 0, 2 or 3, and at most 100000000"},
		{"redis://h?stall_timeout=-1s", "stall_timeout must be a duration of 0 or more"},
		{"redis://h?dial_timeout=soon", "dial_timeout must be a duration such as 500ms, or a number of seconds"},
		{"redis://h?dial_timeout=1e300", "dial_timeout must be a duration such as 500ms, or a number of seconds"},
		{"redis://h?wait_while_down=maybe", "wait_while_down must be true or false"},
		{"redis://h?size=%", "size has a % that escapes nothing; write %25 for a %"},
		{"redis://h?insecure=1", "insecure is for TLS; use it with rediss:// or valkeys://"},
		{"redis://h?ssl_ca_certs=x", "ssl_ca_certs is for TLS; use it with rediss:// or valkeys://"},
		{"rediss://h?ssl_cert_reqs=some", "ssl_cert_reqs must be none, optional or required"},
		{"rediss://h?cert=x", "cert needs the key too; add key="},
		{"rediss://h?ssl_keyfile=x", "ssl_keyfile needs the certificate too; add cert="},
		{"redis://h?poolsize=1", "query has the unknown parameter poolsize; did you mean pool_size?"},
		{"redis://h?max_con=1", "query has the unknown parameter max_con; did you mean max_conns or max_connections or max_conn_idle_time?"},
		{"redis://h?comand_timeout=1", "query has the unknown parameter comand_timeout; did you mean command_timeout?"},
		{"redis://h?flux=1", "query has the unknown parameter flux; docs/url-parameters.md lists them"},
		{"redis://h?Flux%0a=1", "query has a parameter whose name no parameter has; docs/url-parameters.md lists them"},
		// What follows an unescaped / ? or # in a password must not be quoted.
		{"redis://:pa/ss@h", "port must be a number from 1 to 65535" + cut},
		{"redis://:12/ss@h", "database must be a number from 0, as in redis://localhost:6379/0" + cut},
		{"redis://:12?ss@h", "query has a parameter whose name no parameter has; docs/url-parameters.md lists them" + cut},
		{"redis://:12?ss=@h", "query has a parameter whose name no parameter has; docs/url-parameters.md lists them" + cut},
		{"redis://:12#ss@h", "fragment is not allowed; write %23 for a # in a password" + cut},
	} {
		c, err := ParseURL(tt.url)
		var bad *URLError
		if !errors.As(err, &bad) || err.Error() != "evenkeel: URL: "+tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.url, err, tt.want)
		}
		if diff := cmp.Diff(Config{}, c, sameConfig); diff != "" {
			t.Errorf("%s: a Config beside the error", tt.url)
		}
	}
}

// TestURLParametersReachTheirFields: each parameter of the table changes the field that it names, and that one alone.
func TestURLParametersReachTheirFields(t *testing.T) {
	names := map[string]bool{}
	for _, u := range urlParameters {
		if names[u.name] {
			t.Errorf("%s is in the table twice", u.name)
		}
		names[u.name] = true
		if u.doc == "" || !strings.HasSuffix(strings.TrimSuffix(u.doc, ")"), ".") {
			t.Errorf("%s: the documentation %q is no sentence", u.name, u.doc)
		}
		if u.field == "" {
			continue
		}
		text := map[urlKind]string{kindText: "x", kindBool: "true", kindNotBool: "false", kindCertReqs: "none", kindDuration: "7s", kindLooseDuration: "7", kindProtocol: "3"}[u.kind]
		if text == "" {
			text = "7"
		}
		want, refusal := u.kind.parse(text)
		if refusal != "" {
			t.Errorf("%s: %s", u.name, refusal)
			continue
		}
		before, after := urlParser{cfg: DefaultConfig("h:1")}, urlParser{cfg: DefaultConfig("h:1")}
		if !after.store(u.field, want) {
			t.Errorf("%s: %s has no place for a %T", u.name, u.field, want)
			continue
		}
		if got := reflect.ValueOf(after.place(u.field)).Elem().Interface(); got != want {
			t.Errorf("%s: %s is %v, want %v", u.name, u.field, got, want)
		}
		var changed []string
		for path, differs := range map[string]bool{"cfg": !cmp.Equal(before.cfg, after.cfg, sameConfig), "certs": before.certs != after.certs} {
			if differs {
				changed = append(changed, path)
			}
		}
		if place := "cfg"; len(changed) != 1 || strings.HasPrefix(u.field, "TLS.") == (changed[0] == place) {
			t.Errorf("%s changes %v", u.name, changed)
		}
		if field, ok := configField(after.cfg, u.field); ok && field != want {
			t.Errorf("%s: the field %s is %v, want %v", u.name, u.field, field, want)
		} else if !ok && !strings.HasPrefix(u.field, "TLS.") {
			t.Errorf("%s: Config has no field %s", u.name, u.field)
		}
	}
}

func configField(c Config, path string) (any, bool) {
	v := reflect.ValueOf(c)
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() != reflect.Struct {
			return nil, false
		}
		if v = v.FieldByName(name); !v.IsValid() {
			return nil, false
		}
	}
	return v.Interface(), true
}

// TestURLReachesEverySetting: a field of Config that a number, a text, a duration or a bool can set has a parameter, unless the URL itself gives it.
func TestURLReachesEverySetting(t *testing.T) {
	reached := map[string]bool{"Network": true, "Addr": true}
	for _, u := range urlParameters {
		reached[u.field] = true
	}
	var walk func(prefix string, st reflect.Type)
	walk = func(prefix string, st reflect.Type) {
		for f := range st.Fields() {
			switch {
			case !f.IsExported() || f.Type == reflect.TypeFor[Hooks]():
			case f.Type.Kind() == reflect.Struct:
				walk(prefix+f.Name+".", f.Type)
			case f.Type.Kind() == reflect.Int || f.Type.Kind() == reflect.Int64 || f.Type.Kind() == reflect.String || f.Type.Kind() == reflect.Bool:
				if !reached[prefix+f.Name] {
					t.Errorf("no parameter sets %s", prefix+f.Name)
				}
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
}

var updateURLDocs = flag.Bool("update-url-docs", false, "write docs/url-parameters.md from the table")

func TestURLDocs(t *testing.T) {
	const path = "docs/url-parameters.md"
	var b strings.Builder
	b.WriteString(`# Parameters of a URL

    redis://[[user]:password@][host][:port][/database][?parameter=value&…]

` + "`valkey://` is the same, `rediss://` and `valkeys://` are the same over TLS, and `unix://[[user]:password@]/path/of/socket` is a socket of this machine." + `

- A duration is one of Go's, such as ` + "`500ms`" + ` or ` + "`1m30s`" + `, or a number of seconds, such as ` + "`3`" + ` or ` + "`0.5`" + `. Of the names that come from other libraries a negative one
  counts as 0, as it does there.
- Numbers are literal, and 0 means none or off, as the documentation of ` + "`Config`" + ` says for each field.
- A parameter without a value counts as absent. One that is unknown, comes twice, or contradicts another is an error.
- Two names for one field are free to say the same.
- Lanes that are not given fit into those that are: without ` + "`max_conns`" + ` it grows to what they need, with it the others shrink, ` + "`overflow`" + ` first.
- Parameters for TLS need ` + "`rediss://`" + ` or ` + "`valkeys://`" + `. Files are read when the URL is.

This file is made from the table in ` + "`urlparams.go`" + `: ` + "`go test -run TestURLDocs . -args -update-url-docs`" + ` writes it.

| Parameter | Known from | Value | Sets | |
|---|---|---|---|---|
`)
	for _, u := range urlParameters {
		from, field := u.from, "`"+u.field+"`"
		if from == own {
			from = "Evenkeel"
		}
		if u.field == "" {
			field = "nothing"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", u.name, from, u.kind, field, u.doc)
	}
	if *updateURLDocs {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), strings.ReplaceAll(string(have), "\r\n", "\n")); diff != "" {
		t.Errorf("%s is not what the table says; run the test with -args -update-url-docs (-table +file):\n%s", path, diff)
	}
}

func FuzzParseURL(f *testing.F) {
	const password = "kRz7Qw-planted"
	for _, seed := range [][3]string{
		{"redis://user:", "", "@h:6379/0?db=1"},
		{"redis://:", "%", "@h"},
		{"rediss://:", "/", "@[::1]:1"},
		{"unix://u:", "?", "@/p?db=x"},
		{"redis://u:", "#", "@h"},
		{"redis://h?password=", "&", ""},
		{"redis://", "", ":x"},
		{"", "", ""},
		{"redis://h?", "=1", ""},
		{"redis://h/", "", ""},
		{"valkey://", ",", "h"},
		{"redis://[", "", "]"},
		{"rediss://h?cacert=", "", "&cert=x&key=y"},
		{"redis://h?pool_sise", "", "=1"},
		{"\x00", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	noFiles := func(string) ([]byte, error) { return nil, os.ErrNotExist }
	f.Fuzz(func(t *testing.T, before, inside, after string) {
		if strings.Contains(before+inside+after, "planted") {
			return
		}
		cfg, err := parseURL(before+password+inside+after, noFiles)
		if err != nil {
			if shown := fmt.Sprintf("%v %+v", err, err); strings.Contains(shown, "kRz7Qw") || strings.Contains(shown, "planted") {
				t.Errorf("the error shows the password: %v", err)
			}
			return
		}
		if cfg.Network != "tcp" && cfg.Network != "unix" || cfg.Addr == "" || cfg.DialTimeout < 0 || cfg.DB < 0 {
			t.Errorf("a Config that no URL describes: %s %q", cfg.Network, cfg.Addr)
		}
	})
}
