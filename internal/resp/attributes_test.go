package resp_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel/internal/resp"
)

// TestManyAttributes: attributes upon attributes cost what their bytes cost, and count as one.
func TestManyAttributes(t *testing.T) {
	const n = 20_000
	input := []byte(strings.Repeat("|1\r\n+a\r\n+b\r\n", n) + "+x\r\n")
	var (
		p             resp.Parser
		v             resp.Value
		before, after runtime.MemStats
	)
	p.SetLimits(resp.Limits{})
	runtime.ReadMemStats(&before)
	_, done, err := p.Next(input, &v)
	runtime.ReadMemStats(&after)
	if err != nil || !done || len(v.Attrs) != 2*n || v.Str != "x" {
		t.Fatalf("done %v, %d attributes, value %q, %v", done, len(v.Attrs), v.Str, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 2000*n {
		t.Errorf("%d bytes allocated for %d of input", got, len(input))
	}
	p.Reset()
	p.SetLimits(resp.Limits{MaxElems: 100})
	if _, _, err := p.Next(input, &v); err == nil {
		t.Error("attributes beyond the limit of elements were taken")
	}
}
