package workload

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// published is what a preset's source says of it, beside what its file spells out.
type published struct {
	key, value float64 // mean bytes
	slack      float64 // relative, for value
	read       float64 // share
	top        float64 // the share of the keys whose requests are counted
	share      float64 // of the requests that go to them
}

// TestPresets: each preset gives the mix, the mean sizes and the skew that its source says, within the tolerance stated here.
func TestPresets(t *testing.T) {
	zipf := func(s float64, n, top int) float64 {
		sum, first := 0.0, 0.0
		for k := 1; k <= n; k++ {
			sum += math.Pow(float64(k), -s)
			if k == top {
				first = sum
			}
		}
		return first / sum
	}
	const million = 1_000_000
	want := map[string]published{
		"aws-r5":                  {4, 200, 0, 0.8, 0.01, 0.01},
		"rpcperf-b62":             {4, 200, 0, 0.8, 0.01, 0.01},
		"fb-cdn":                  {40, 33041, 0.03, 0.991, 0.01, 0.139},
		"fb-etc":                  {36.2, 194.4, 0.03, 0.968, 0.01, 0.55},
		"fb-graph-follower-assoc": {40, 584, 0.06, 0.975, 0.01, 0.596},
		"fb-graph-leader-obj":     {40, 357, 0.07, 1, 0.01, 0.108},
		"fb-kvcache-l2":           {40, 33129, 0.02, 0.88, 0.01, 0.01},
		"fb-kvcache-reg":          {40, 351, 0.02, 0.985, 0.01, 0.724},
		"fb-usr":                  {18.5, 2, 0, 0.998, 0.01, 0.01},
		"memtier-default":         {14.9, 32, 0, 10.0 / 11, 0.01, 0.01},
		"mutilate-default":        {30, 200, 0, 1, 0.01, 0.01},
		"redis-benchmark-default": {0, 3, 0, 0.5, 0, 0},
		"twitter-compute":         {67, 2439, 0, 0.93, 0.01, zipf(1.1004, million, million/100)},
		"twitter-counter":         {35, 224, 0, 36.0 / 99, 0.01, zipf(0.274, million, million/100)},
		"twitter-half-half":       {44, 155, 0, 0.5, 0.01, zipf(0.8551, million, million/100)},
		"twitter-hot-small":       {18, 37, 0, 96.0 / 98, 0.01, zipf(2.0994, million, million/100)},
		"twitter-large-value":     {72, 20134, 0, 0.63, 0.01, zipf(0.4251, million/10, million/1000)},
		"twitter-median":          {36, 224, 0, 0.86, 0.01, zipf(1.21, million, million/100)},
		"twitter-read-hot":        {21, 68, 0, 1, 0.01, zipf(1.4908, million, million/100)},
		"twitter-storage":         {20, 273, 0, 93.0 / 99, 0.01, zipf(1.2117, million, million/100)},
		"twitter-transient":       {18, 102, 0, 0, 0.01, zipf(0.0242, million, million/100)},
		"twitter-write-heavy":     {44, 1030, 0, 0.2, 0.01, zipf(0.3048, million, million/100)},
		"zippydb-mixgraph":        {48, 34.5, 0.03, 0.86, 0.01, 0.01},
	}
	if names := slices.Sorted(maps.Keys(want)); !slices.Equal(names, Presets()) {
		t.Fatalf("there are the presets %v, and figures for %v", Presets(), names)
	}
	for name, pub := range want {
		t.Run(name, func(t *testing.T) {
			w, err := Preset(name)
			if err != nil {
				t.Fatal(err)
			}
			if w.Name != name || w.Title == "" || w.Source == "" {
				t.Errorf("name %q, title %q, source %q", w.Name, w.Title, w.Source)
			}
			if strings.HasPrefix(name, "twitter-") && !strings.Contains(w.Source, "CC-BY 4.0") {
				t.Errorf("the source does not name the licence: %s", w.Source)
			}
			p := compile(t, w)
			if got := p.MeanValue(); math.Abs(got-pub.value) > pub.slack*pub.value {
				t.Errorf("mean value %.1f, published %v", got, pub.value)
			}
			if got := p.MeanKey(); p.Keys() > 0 && math.Abs(got-pub.key) > 0.02*pub.key+0.1 {
				t.Errorf("mean key %.2f, published %v", got, pub.key)
			}
			const draws = 20_000
			s, reads, misses := p.Stream(one()), 0, 0
			for range draws / 100 {
				b, tags := s.Batch(100)
				for i, words := range split(t, b) {
					if !p.Classes()[tags[i].Class()].Read {
						continue
					}
					reads++
					if p.naming.digits > 0 && p.naming.base == 10 && words[1][len(words[1])-p.naming.digits:] >= numbered(p.naming.digits, p.keys) {
						misses++
					}
				}
			}
			near2(t, "reads", reads, draws, pub.read)
			near2(t, "misses", misses, reads, w.MissRate)
			if pub.top > 0 {
				top(t, p, pub)
			}
		})
	}
}

func numbered(digits int, x uint64) string {
	b := make([]byte, digits)
	putDecimal(b, x)
	return string(b)
}

// top counts the requests that go to the most popular keys.
func top(t *testing.T, p *Plan, pub published) {
	t.Helper()
	const draws = 50_000
	d, r := &p.drawers[0], newRandom(17, 0)
	hot := map[uint64]bool{}
	for rank := range uint64(math.Round(pub.top * float64(p.keys))) {
		hot[d.spread.of(rank)] = true
	}
	in := 0
	for range draws {
		if hot[d.draw(&r, nil)] {
			in++
		}
	}
	near2(t, "requests to the top keys", in, draws, pub.share)
}

// TestETCValues compares the mix with the published quantiles.
func TestETCValues(t *testing.T) {
	p := compile(t, must(Preset("fb-etc")))
	const draws = 200_000
	sizes, r := make([]int, draws), newRandom(2, 2)
	two := 0
	for i := range sizes {
		if sizes[i] = p.sizers[0].draw(&r); sizes[i] == 2 {
			two++
		}
	}
	slices.Sort(sizes)
	near2(t, "values of 2 bytes", two, draws, 0.1782)
	for q, want := range map[float64]float64{0.5: 39, 0.9: 520, 0.99: 1899} {
		if got := float64(sizes[int(q*draws)]); math.Abs(got-want) > 0.03*want+1 {
			t.Errorf("quantile %v is %v, published %v", q, got, want)
		}
	}
}

func TestUnknownPreset(t *testing.T) {
	for name, want := range map[string]string{"twiter-storage": "twitter-storage", "rpcperf": "rpcperf-b62", "zzz": "there are aws-r5", "../doc": "there are"} {
		if _, err := Preset(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", name, err, want)
		}
	}
}
