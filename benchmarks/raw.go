package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/benchmarks/internal/stats"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// rawCases are what the load generators are compared on: connections, depth, and how many
// requests take about a second.
var rawCases = [...]struct{ conns, depth, requests int }{
	{50, 1, 100_000}, {50, 16, 1_000_000}, {50, 256, 3_000_000}, {1000, 1, 60_000}, {1000, 16, 800_000}, {1000, 256, 3_000_000},
}

// generator is a program that takes redis-benchmark's flags.
type generator struct {
	name string
	argv []string
}

// score is one run of one generator.
type score struct {
	perS, perCPU float64 // requests per second, and per second of the generator's own CPU
}

// compareRaw runs the raw engine beside redis-benchmark, both as programs with the same
// flags, by turns (ABBA), and prints the ratios.
func compareRaw(ctx context.Context, args []string, stdout, stderr io.Writer) (code int, err error) {
	flags := flag.NewFlagSet("raw", flag.ContinueOnError)
	flags.SetOutput(stderr)
	rounds := flags.Int("rounds", 10, "pairs of runs for each case, 1 to 1000; fewer than 6 give no interval")
	peer := flags.String("peer", "redis-benchmark", "the `program` to compare with")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitDone, err
		}
		return exitUsage, err
	}
	if *rounds < 1 || *rounds > 1000 || flags.NArg() > 0 {
		return exitUsage, errors.New("raw takes -rounds 1 to 1000, -peer PROGRAM and nothing else")
	}
	theirs, err := exec.LookPath(*peer)
	if err != nil {
		return exitFailed, fmt.Errorf("-peer: %w; redis-tools has redis-benchmark", err)
	}
	dir, err := os.MkdirTemp("", "evenkeel-raw-")
	if err != nil {
		return exitFailed, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "evenkeel")
	if err := buildEvenkeel(ctx, program, stderr); err != nil {
		return exitFailed, err
	}
	server, err := evenkeeltest.Launch(ctx)
	if err != nil {
		return exitFailed, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	pair := [2]generator{{"evenkeel bench", []string{program, "bench"}}, {*peer, []string{theirs}}}
	if _, err := fmt.Fprintf(stdout, "%s against %s on one %s, %d pairs, %s %s/%s, %d CPUs, %s\nratios are ours over theirs: median (95 %% interval)\n\n%5s %5s %5s %22s %26s %14s %14s\n",
		pair[0].name, pair[1].name, filepath.Base(server.Binary())+" "+server.Version(), *rounds, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly),
		"conns", "depth", "test", "requests/s", "requests per CPU second", "ours µs CPU", "theirs µs CPU"); err != nil {
		return exitFailed, err
	}
	for _, c := range rawCases {
		for _, test := range []string{"set", "get"} {
			flags := []string{"-p", strconv.Itoa(server.Port()), "-t", test, "-c", strconv.Itoa(c.conns), "-P", strconv.Itoa(c.depth), "-n", strconv.Itoa(c.requests), "-q"}
			line, err := comparePair(ctx, pair, flags, c.requests, *rounds)
			if err != nil {
				return exitFailed, err
			}
			if _, err := fmt.Fprintf(stdout, "%5d %5d %5s %s\n", c.conns, c.depth, test, line); err != nil {
				return exitFailed, err
			}
		}
	}
	return exitDone, nil
}

// buildEvenkeel builds the command line in its own module, whose dependencies are not this one's.
func buildEvenkeel(ctx context.Context, program string, stderr io.Writer) error {
	find := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/evenkeel-go/evenkeel")
	find.Stderr = stderr
	dir, err := find.Output()
	if err != nil {
		return fmt.Errorf("find the module evenkeel: %w; run this in benchmarks/", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/evenkeel")
	build.Dir, build.Stderr = strings.TrimSpace(string(dir)), stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build evenkeel: %w", err)
	}
	return nil
}

// comparePair runs one case and gives its line.
func comparePair(ctx context.Context, pair [2]generator, flags []string, requests, rounds int) (string, error) {
	var speed, thrift, ours, theirs []float64
	for round := range rounds {
		var scores [2]score
		for turn := range pair {
			at := (turn + round) % len(pair)
			var err error
			if scores[at], err = pair[at].run(ctx, flags, requests); err != nil {
				return "", err
			}
		}
		speed = append(speed, scores[0].perS/scores[1].perS)
		thrift = append(thrift, scores[0].perCPU/scores[1].perCPU)
		ours, theirs = append(ours, 1e6/scores[0].perCPU), append(theirs, 1e6/scores[1].perCPU)
	}
	return fmt.Sprintf("%22s %26s %14.2f %14.2f", ratioText(speed), ratioText(thrift), stats.Median(ours), stats.Median(theirs)), nil
}

func ratioText(ratios []float64) string {
	text := fmt.Sprintf("%.2f", stats.Median(ratios))
	if i, ok := stats.MedianInterval(ratios, 0.95); ok {
		text += fmt.Sprintf(" (%.2f to %.2f)", i.Low, i.High)
	}
	return text
}

var requestsPerSecond = regexp.MustCompile(`: ([0-9.]+) requests per second, p50=`)

// run runs the program once.
func (g *generator) run(ctx context.Context, flags []string, requests int) (score, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.argv[0], append(append([]string{}, g.argv[1:]...), flags...)...) //nolint:gosec // the programs are ours and the user's
	out, err := cmd.Output()
	if err != nil {
		return score{}, fmt.Errorf("%s: %w", g.name, err)
	}
	found := requestsPerSecond.FindAllSubmatch(out, -1)
	if len(found) == 0 {
		return score{}, fmt.Errorf("%s printed no result: %.200q", g.name, out)
	}
	perS, err := strconv.ParseFloat(string(found[len(found)-1][1]), 64)
	if err != nil {
		return score{}, err
	}
	cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return score{perS: perS, perCPU: float64(requests) / math.Max(cpu, 1e-6)}, nil
}
