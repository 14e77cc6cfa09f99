package experiment

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// keyspace is the data of a run: the keys that exist, and the value they all have.
type keyspace struct {
	keys  []string
	value string
}

const (
	keyPrefix  = "bench:"
	keyWidth   = 8
	loadAtOnce = 10_000 // keys per script call, so that no call takes long
)

// loadScript sets keys ARGV[2] to ARGV[3] - 1 to the value ARGV[4].
const loadScript = `for i = ARGV[2], ARGV[3] - 1 do redis.call('SET', ARGV[1] .. string.format('%08d', i), ARGV[4]) end return ARGV[3] - ARGV[2]`

// load fills the server with n keys whose values have size bytes.
func load(ctx context.Context, server *evenkeeltest.Server, n, size int) (*keyspace, error) {
	space := &keyspace{keys: make([]string, n), value: strings.Repeat("x", size)}
	for i := range space.keys {
		space.keys[i] = fmt.Sprintf("%s%0*d", keyPrefix, keyWidth, i)
	}
	for from := 0; from < n; from += loadAtOnce {
		to := min(from+loadAtOnce, n)
		if _, err := server.Do(ctx, "EVAL", loadScript, "0", keyPrefix, strconv.Itoa(from), strconv.Itoa(to), space.value); err != nil {
			return nil, fmt.Errorf("loading keys %d to %d: %w", from, to, err)
		}
	}
	size64, err := server.Do(ctx, "DBSIZE")
	if err != nil {
		return nil, fmt.Errorf("loading keys: %w", err)
	}
	if size64 != int64(n) {
		return nil, fmt.Errorf("loading keys: the server has %v, want %d", size64, n)
	}
	return space, nil
}

// xorshift is a source of numbers that costs next to nothing. It must not be 0.
type xorshift uint64

func newXorshift(seed, worker uint64) xorshift {
	return xorshift((seed+worker)*0x9e3779b97f4a7c15 | 1)
}

func (x *xorshift) next() uint64 {
	v := uint64(*x)
	v ^= v << 13
	v ^= v >> 7
	v ^= v << 17
	*x = xorshift(v)
	return v
}
