package cli_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel/internal/cli"
)

func TestZonesEndpoints(t *testing.T) {
	const first, second = "first-s3cret", "second-s3cret"
	f := &fake{err: errors.New("WRONGPASS for " + first + " and " + second)}
	got := runWith(t.Context(), f, map[string]string{"EVENKEEL_PASSWORD": second},
		"bench", "zones", "redis://:"+first+"@a:1/2", "b:6379", "unix:///run/c.sock", "--user", "app", "--json")
	if got.code != cli.ExitFailed || strings.Contains(got.stderr+got.stdout, first) || strings.Contains(got.stderr+got.stdout, second) {
		t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if f.zones == nil || len(f.zones.Targets) != 3 {
		t.Fatalf("%+v", f.zones)
	}
	a, b, c := f.zones.Targets[0], f.zones.Targets[1], f.zones.Targets[2]
	if a.Address != "a:1" || a.DB != 2 || a.Password != first || a.Username != "app" {
		t.Errorf("%s, user %q", a, a.Username)
	}
	if b.Address != "b:6379" || b.Password != second || c.Network != "unix" || c.Address != "/run/c.sock" {
		t.Errorf("%s, %s", b, c)
	}
	if !strings.Contains(got.stderr, "read a password in endpoint 1;") {
		t.Error(got.stderr)
	}
}

func TestZonesUsage(t *testing.T) {
	for args, want := range map[string]string{
		"bench zones":                              "no endpoint is given",
		"bench zones a:1 :":                        "endpoint 2:",
		"bench zones http://a:1":                   "endpoint 1:",
		"bench zones a:1 --cacert ca.pem":          "--cacert needs TLS",
		"bench zones a:1 --interval 0s":            "--interval: 0s is out of bounds",
		"bench zones a:1 b:2 --url redis://c:6379": "unknown flag --url",
	} {
		f := &fake{}
		got := run(t, f, strings.Fields(args)...)
		if got.code != cli.ExitUsage || !strings.Contains(got.stderr, want) || f.zones != nil {
			t.Errorf("%s: exit %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
	if got := run(t, &fake{}, "bench", "zones", "a:1", "b:2", "c:3", "-a", "pw"); strings.Count(got.stderr, "password in -a") != 1 {
		t.Error(got.stderr)
	}
}
