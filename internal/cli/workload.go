package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/bench/workload"
)

// workloadFlags say what is sent: a file, a preset or commands, and what to change about
// them.
type workloadFlags struct {
	file, preset string
	commands     []string
	weights      []float64
	keys         int64
	keyPrefix    string
	keyFile      string
	keyDist      string
	valueSize    string
	missRate     float64
	verify       bool
	preload      string
}

func (f *workloadFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.file, "workload", "", "what to send, as a `FILE` in YAML")
	fs.StringVar(&f.preset, "preset", "", "what to send, by the `name` of a published workload; 'evenkeel bench presets' lists them")
	fs.StringArrayVar(&f.commands, "command", nil, "what to send, as a `command` such as 'HSET __key__ field __data__'; may be repeated")
	fs.Float64SliceVar(&f.weights, "weight", nil, "the `weights` of the commands, in their order (default: all alike)")
	fs.Int64Var(&f.keys, "keys", 0, "`number` of keys (default 100000, or the workload's)")
	fs.StringVar(&f.keyPrefix, "key-prefix", "", "`text` that keys begin with (default "+bench.KeyPrefix+", or the workload's)")
	fs.StringVar(&f.keyFile, "key-file", "", "`FILE` with a key on each line, instead of --keys")
	fs.StringVar(&f.keyDist, "key-dist", "", "how often each key: uniform, sequential, zipf:0.99, gaussian:5000,1000 or hotset:0.01=0.7 (default uniform, or the workload's)")
	fs.StringVar(&f.valueSize, "value-size", "", "`bytes` of a value: 100, 64-1024, or 100=9,4096=1 by weight (default 100, or the workload's)")
	fs.Float64Var(&f.missRate, "miss-rate", 0, "`share` of the reads, 0 to 1, that ask for keys that are not there")
	fs.BoolVar(&f.verify, "verify", false, "check each value that is read")
	fs.StringVar(&f.preload, "preload", "", "the `command` that writes one key beforehand (default: SET where keys are strings)")
	_ = cmd.RegisterFlagCompletionFunc("preset", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return workload.Presets(), cobra.ShellCompDirectiveNoFileComp
	})
}

// workload puts together what the flags say.
func (f *workloadFlags) workload(ctx context.Context, fs *pflag.FlagSet) (*workload.Workload, error) {
	w, err := f.base(ctx, fs)
	if err != nil {
		return nil, err
	}
	if fs.Changed("keys") {
		w.Keys.Count = f.keys
		// A fixed length that is too short for the number would cut it.
		if w.Keys.Digits > 0 && w.Keys.Alphabet == "" {
			w.Keys.Digits = max(w.Keys.Digits, len(strconv.FormatInt(f.keys, 10)))
		}
	}
	if fs.Changed("key-file") {
		if fs.Changed("keys") {
			return nil, errors.New("--keys and --key-file name two key spaces; leave one out")
		}
		w.Keys = workload.Keys{File: f.keyFile, Prefix: w.Keys.Prefix, Dist: w.Keys.Dist}
	}
	if fs.Changed("key-prefix") {
		w.Keys.Prefix = f.keyPrefix
	}
	if fs.Changed("key-dist") {
		if w.Keys.Dist, err = workload.ParseDist(f.keyDist); err != nil {
			return nil, fmt.Errorf("--key-dist: %w", err)
		}
	}
	if fs.Changed("value-size") {
		if w.Values.Size, err = workload.ParseSize(f.valueSize); err != nil {
			return nil, fmt.Errorf("--value-size: %w", err)
		}
	}
	if fs.Changed("miss-rate") {
		w.MissRate = f.missRate
	}
	if fs.Changed("verify") {
		w.Verify = f.verify
	}
	if fs.Changed("preload") {
		w.Preload = f.preload
	}
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("the workload: %w", err)
	}
	return w, nil
}

// base is the workload before the flags that change it.
func (f *workloadFlags) base(ctx context.Context, fs *pflag.FlagSet) (*workload.Workload, error) {
	sources := slices.DeleteFunc([]string{"workload", "preset", "command"}, func(name string) bool { return !fs.Changed(name) })
	if len(sources) > 1 {
		return nil, fmt.Errorf("--%s each say what to send; give one of them", strings.Join(sources, " and --"))
	}
	if fs.Changed("weight") && !fs.Changed("command") {
		return nil, errors.New("--weight goes with --command; a file has weights of its own")
	}
	switch {
	case fs.Changed("workload"):
		text, err := readFile(ctx, "workload", f.file)
		if err != nil {
			return nil, err
		}
		w, err := workload.Parse(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("--workload: %s: %w", f.file, err)
		}
		return w, nil
	case fs.Changed("preset"):
		w, err := workload.Preset(f.preset)
		if err != nil {
			return nil, fmt.Errorf("--preset: %w", err)
		}
		return w, nil
	case fs.Changed("command"):
		w := bench.DefaultWorkload()
		w.Name, w.Title, w.Commands = "", "", nil
		if fs.Changed("weight") && len(f.weights) != len(f.commands) {
			return nil, fmt.Errorf("--weight: there are %d for %d commands; give one for each", len(f.weights), len(f.commands))
		}
		for i, text := range f.commands {
			c := workload.Command{Command: text}
			if fs.Changed("weight") {
				c.Weight = f.weights[i]
			}
			w.Commands = append(w.Commands, c)
		}
		if !strings.Contains(strings.Join(f.commands, " ")+f.preload, "__") {
			w.Keys, w.Values = workload.Keys{}, workload.Values{} // no placeholder needs them
		}
		return w, nil
	default:
		return bench.DefaultWorkload(), nil
	}
}
