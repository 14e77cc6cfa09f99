package bench_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

func smallLayers(layers ...bench.SecurityLayer) bench.LayersOptions {
	o := bench.DefaultLayersOptions()
	o.Layers, o.Rounds, o.Dials, o.Slot = layers, 3, 2, 10*time.Millisecond
	return o
}

func TestLayers(t *testing.T) {
	noLeaks(t)
	r, err := bench.Layers(t.Context(), smallLayers(bench.SecurityLayers()...))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 7 {
		t.Fatalf("%d rows", len(r.Rows))
	}
	for i, row := range r.Rows {
		tls := i >= 3
		resumed := row.Layer == bench.LayerTLS12Resumed || row.Layer == bench.LayerTLS13Resumed
		if row.Layer != bench.SecurityLayers()[i] || row.Dials != 6 || len(row.Rounds) != 3 || row.Commands < 3 || row.ServerPerDialUs == nil || row.ServerPerOpUs == nil {
			t.Errorf("%+v", row)
		}
		if row.ConnectP50Us <= 0 || row.ConnectP99Us < row.ConnectP50Us || row.TCPUs <= 0 || row.HandshakeUs <= 0 || (row.TLSUs > 0) != tls || row.CommandP50Us <= 0 {
			t.Errorf("times of %+v", row)
		}
		if want := map[bool]int64{true: 6, false: 0}[resumed]; row.Resumed != want {
			t.Errorf("%s resumed %d sessions, want %d", row.Layer, row.Resumed, want)
		}
		if (row.Extra == nil) != (i == 0) || (row.Rate == nil) != (i == 0) {
			t.Errorf("%s compared with the first: %+v, %+v", row.Layer, row.Extra, row.Rate)
		}
	}
}

func TestLayersGivenServer(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t, evenkeeltest.WithPassword("pw"), evenkeeltest.WithTLS())
	for _, c := range []struct {
		target bench.Target
		want   []bench.SecurityLayer
	}{
		{bench.Target{Network: "tcp", Address: s.Addr(), Password: "pw"}, []bench.SecurityLayer{bench.LayerPassword}},
		{
			bench.Target{Network: "tcp", Address: s.TLSAddr(), Password: "pw", TLS: s.TLSConfig()},
			[]bench.SecurityLayer{bench.LayerTLS12, bench.LayerTLS12Resumed, bench.LayerTLS13, bench.LayerTLS13Resumed},
		},
	} {
		o := smallLayers(bench.SecurityLayers()...)
		o.Target, o.Disturb = c.target, true
		r, err := bench.Layers(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var got []bench.SecurityLayer
		for _, row := range r.Rows {
			got = append(got, row.Layer)
		}
		if len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("%s: %v, want %v", c.target, got, c.want)
		}
	}
	o := smallLayers(bench.LayerTLS13)
	o.Target, o.Disturb = bench.Target{Network: "tcp", Address: s.Addr(), Password: "pw"}, true
	if r, err := bench.Layers(t.Context(), o); err == nil || len(r.Rows) != 0 || !contains(err.Error(), "has none of these") {
		t.Errorf("%+v, %v", r, err)
	}
	noKeys(t, s)
}

func TestLayersCancelled(t *testing.T) {
	noLeaks(t)
	s := evenkeeltest.StartServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := smallLayers(bench.LayerPlain)
	o.Target, o.Disturb, o.Rounds = bench.Target{Network: "tcp", Address: s.Addr()}, true, 1_000
	o.Progress = func(e bench.Event) {
		if e.Elapsed >= 2*o.Slot {
			cancel()
		}
	}
	r, err := bench.Layers(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil || !r.Interrupted || len(r.Rows) != 1 || len(r.Rows[0].Rounds) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	noKeys(t, s)
}

// layers is a result as a quiet machine gives it.
func layers() *bench.LayersResult {
	r := bench.NewLayersResult(env(bench.ServerPrivate), bench.DefaultLayersOptions())
	add := func(layer bench.SecurityLayer, connect, tls, rate float64) {
		row := bench.LayersRow{
			Layer: layer, Dials: 200, ConnectP50Us: connect, ConnectP99Us: 2 * connect, TCPUs: 60, TLSUs: tls, HandshakeUs: connect - tls - 60,
			ServerPerDialUs: new(connect / 3), Commands: 40_000, CommandP50Us: 1e6 / rate, CommandP99Us: 3e6 / rate, ServerPerOpUs: new(4e5 / rate), ClientPerOpUs: new(3e5 / rate),
		}
		if tls > 0 && tls < 1_000 {
			row.Resumed = 200
		}
		for n := range 20 {
			wobble := 1 + float64(n%5-2)/100
			row.Rounds = append(row.Rounds, bench.LayersRound{ConnectUs: connect * wobble, OpsPerS: rate / wobble})
		}
		if layer == bench.LayerPassword || layer == bench.LayerACL {
			for n := range row.Rounds {
				row.Rounds[n].OpsPerS *= 1 + float64(n%3-1)/50
			}
		}
		r.Rows = append(r.Rows, row)
	}
	add(bench.LayerPlain, 130, 0, 20_695)
	add(bench.LayerPassword, 152, 0, 20_563)
	add(bench.LayerACL, 153, 0, 20_350)
	add(bench.LayerTLS12, 2_300, 2_100, 17_000)
	add(bench.LayerTLS12Resumed, 420, 240, 17_000)
	add(bench.LayerTLS13, 2_150, 1_900, 17_100)
	add(bench.LayerTLS13Resumed, 990, 780, 17_100)
	r.Compare()
	return r
}

func TestLayersSentences(t *testing.T) {
	r := layers()
	lead, verdicts := r.Page().Lead, strings.Join(r.Page().Sections[2].Prose, " ")
	for _, want := range []string{"A password does not slow commands; it slows opening, by 22 µs", "With TLS 1.3 opening takes 16.5× the time (7.62× with a resumed session)"} {
		if !contains(lead, want) {
			t.Errorf("%q is not in %q", want, lead)
		}
	}
	for _, want := range []string{"password: opening takes 22 µs longer", "commands are not slowed", "TLS 1.3: opening takes 2.02 ms longer", "commands run at 82.6 % of the rate"} {
		if !contains(verdicts, want) {
			t.Errorf("%q is not in %q", want, verdicts)
		}
	}
	r.Rows[4].Resumed = 0
	for n := range r.Rows[1].Rounds {
		r.Rows[1].Rounds[n].ConnectUs = r.Rows[0].Rounds[n].ConnectUs + float64(n%2*2-1)
		r.Rows[1].Rounds[n].OpsPerS *= 2
	}
	r.Compare()
	verdicts = strings.Join(r.Page().Sections[2].Prose, " ")
	for _, want := range []string{"resumed no session", "opening takes as long", "more than the layer explains"} {
		if !contains(verdicts, want) {
			t.Errorf("%q is not in %q", want, verdicts)
		}
	}
	if lead := r.Page().Lead; !contains(lead, "which a password does not explain") {
		t.Error(lead)
	}
}
