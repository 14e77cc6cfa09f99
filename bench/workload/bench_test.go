package workload

import "testing"

// BenchmarkBatch gives the time per request of batches of 256.
func BenchmarkBatch(b *testing.B) {
	set := Command{Command: "SET key:__rand_int__ __data__"}
	zipf := func(s float64) Dist { return Dist{Kind: Zipf, Exponent: s} }
	const million = 1_000_000
	for _, c := range []struct {
		name string
		w    *Workload
	}{
		{"get", &Workload{Keys: Keys{Count: million}, Commands: []Command{{Command: "GET key:__rand_int__"}}}},
		{"set3", &Workload{Keys: Keys{Count: million}, Values: Values{Size: Size{Bytes: 3}, Same: true}, Commands: []Command{set}}},
		{"set200", &Workload{Keys: Keys{Count: million}, Values: Values{Size: Size{Bytes: 200}}, Commands: []Command{set}}},
		{"verified", &Workload{Keys: Keys{Count: million}, Values: Values{Size: Size{Bytes: 200}}, Verify: true, Commands: []Command{set}}},
		{"zipf", &Workload{Keys: Keys{Count: million, Dist: zipf(0.99)}, Commands: []Command{{Command: "GET key:__rand_int__"}}}},
		{"gaussian", &Workload{Keys: Keys{Count: million, Dist: Dist{Kind: Gaussian, Mean: million / 2, StdDev: 1000}}, Commands: []Command{{Command: "GET key:__rand_int__"}}}},
		{"preset rpcperf-b62", must(Preset("rpcperf-b62"))},
		{"preset fb-etc", must(Preset("fb-etc"))},
		{"preset twitter-storage", must(Preset("twitter-storage"))},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := must(c.w.Compile()).Stream(Slice{Seed: 1, Count: 1})
			const depth = 256
			b.ReportAllocs()
			var sent int64
			for i := 0; i < b.N; i += depth {
				requests, _ := s.Batch(depth)
				sent += int64(len(requests))
			}
			b.SetBytes(sent / int64(b.N))
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
