package evenkeel_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// A call that ends while the first dial still stands in its TLS handshake says so: nothing has failed yet, and yet everybody wants to know why
// there is no conn. It tells its own wait, not that of the dial.
func TestADialThatHangsIsExplained(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // what it accepts nobody reads: the kernel completes the connect
	cfg := evenkeel.DefaultConfig(l.Addr().String())
	cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	cfg.DialTimeout, cfg.CommandTimeout = time.Minute, time.Second
	c, err := evenkeel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(over) // it has to cut: the dial would go on for a minute
	})
	for tries := 1; ; tries++ { // on a busy machine the first call may end before the handshake has begun
		err = c.Do(t.Context(), "PING").Err()
		if err != nil && strings.Contains(err.Error(), "the TLS handshake: is this a plain port") {
			break
		}
		if tries == 10 {
			t.Fatalf("%v", err)
		}
	}
}
