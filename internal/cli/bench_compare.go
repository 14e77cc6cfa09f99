package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel/bench"
)

const compareLong = `Compare two servers, two ways to load one, or two saved results of 'bench run'.

The flags describe A. B is the same, but for the flags that follow --. Two URLs are
short for two servers under the same load. Both are loaded by turns, in pairs whose
order alternates; before that A has as many turns against itself, which shows how much
two turns of the same differ here. A difference is called only where the interval of
the pairs' ratios excludes 1 and the ratio lies beyond that.

Two files are compared as they are. They were not taken by turns, so their intervals
are wider, and what else differs between them is listed.`

func (s *session) compareCommand() *cobra.Command {
	o := bench.DefaultCompareOptions()
	a := newSide()
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "compare [URL-A URL-B | FILE-A FILE-B] [-- FLAGS-OF-B]",
		Short: "Say how two servers, loads or results differ",
		Long:  compareLong,
		Example: `  evenkeel bench compare redis://old.internal:6379/15 redis://new.internal:6379/15
  evenkeel bench compare --conns 50 -- --depth 16
  evenkeel bench compare -- --server-config 'io-threads 4'
  evenkeel bench compare --server-program redis-server -- --server-program valkey-server
  evenkeel bench compare before.json after.json`,
		Args: cobra.ArbitraryArgs, // checked below, where the two forms are told apart
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, fs := cmd.Context(), cmd.Flags()
			var forB []string
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, forB = args[:at], args[at:]
			}
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("%d arguments were given; give two URLs, two files, or none and B's flags after --", len(args))
			}
			saved := len(args) == 2 && isFile(args[0]) && isFile(args[1])
			switch {
			case saved && len(forB) > 0:
				return errors.New("files are compared as they are; leave out what follows --")
			case saved:
				return s.compareSaved(ctx, &out, args)
			case len(args) == 0 && len(forB) == 0:
				return errors.New("so far B is the same as A; give its flags after --, such as -- --depth 16, or two URLs or files")
			}
			b, bfs, err := a.other(fs, forB)
			if err != nil {
				return err
			}
			if err := a.load.resolve(ctx, s, fs); err != nil {
				return err
			}
			if err := b.load.resolve(ctx, s, bfs); err != nil {
				return fmt.Errorf("after --: %w", err)
			}
			if len(args) == 2 {
				for _, name := range serverNames() {
					if fs.Changed(name) || bfs.Changed(name) {
						return fmt.Errorf("two URLs name the servers; leave out --%s", name)
					}
				}
				targets, err := s.endpoints(ctx, &a.load.server, fs, args)
				if err != nil {
					return err
				}
				a.load.options.Target, b.load.options.Target = targets[0], targets[1]
			}
			o.A, o.B = a.load.options, b.load.options
			return run(ctx, s, &out, &o, &o.Progress, s.Experiments.Compare)
		},
	}
	fs := cmd.Flags()
	a.register(cmd)
	fs.IntVar(&o.Pairs, "pairs", o.Pairs, "how often both have their turns, and before that A against itself")
	fs.DurationVar(&o.Slot, "slot", o.Slot, "how long a turn takes")
	a.load.registerServer(fs)
	out.register(fs)
	return cmd
}

// side are the flags of one side.
type side struct{ load *loadFlags }

func newSide() *side { return &side{load: newLoadFlags()} }

func (f *side) register(cmd *cobra.Command) {
	f.load.register(cmd)
	cmd.Flags().Float64Var(&f.load.options.Rate, "rate", 0, "requests per second, in open loop (0: closed loop)")
}

// serverNames are the flags that say which server it is.
func serverNames() []string { return []string{"url", "host", "port", "socket"} }

// alternatives are flags of which one replaces the others.
func alternatives() [][]string {
	return [][]string{
		{"workload", "preset", "command", "weight"}, serverNames(), {"keys", "key-file"}, {"pass", "password-file"},
	}
}

// other makes the flags of B: what words say, and the rest as it is given for A.
func (f *side) other(of *pflag.FlagSet, words []string) (*side, *pflag.FlagSet, error) {
	b := newSide()
	var cmd cobra.Command
	fs := cmd.Flags()
	b.register(&cmd)
	b.load.registerServer(fs)
	fs.Bool("help", false, "")
	if err := fs.Parse(words); err != nil {
		return nil, nil, fmt.Errorf("after --: %w", flagError(&cmd, err))
	}
	if rest := fs.Args(); len(rest) > 0 {
		return nil, nil, fmt.Errorf("after --: unexpected arguments: %s; give flags there", strings.Join(rest, " "))
	}
	own := map[string]bool{}
	fs.Visit(func(flag *pflag.Flag) {
		own[flag.Name] = true
		for _, group := range alternatives() {
			if slices.Contains(group, flag.Name) {
				for _, name := range group {
					own[name] = true
				}
			}
		}
	})
	var err error
	of.Visit(func(flag *pflag.Flag) {
		mine := fs.Lookup(flag.Name)
		if err != nil || mine == nil || own[flag.Name] {
			return
		}
		list, isList := flag.Value.(pflag.SliceValue)
		if to, ok := mine.Value.(pflag.SliceValue); ok && isList {
			err = to.Replace(list.GetSlice())
			mine.Changed = true
			return
		}
		err = fs.Set(flag.Name, flag.Value.String())
	})
	return b, fs, err
}

func isFile(name string) bool {
	if strings.Contains(name, "://") {
		return false
	}
	_, err := os.Stat(name)
	return err == nil
}

// compareSaved compares two results of bench run.
func (s *session) compareSaved(_ context.Context, out *outputFlags, names []string) error {
	var runs [2]*bench.RunResult
	for i, name := range names {
		r, err := readResult(name)
		if err != nil {
			return failed(fmt.Errorf("%s: %w", name, err))
		}
		var ok bool
		if runs[i], ok = r.(*bench.RunResult); !ok {
			return failed(fmt.Errorf("%s: it is no result of 'bench run'; those can be compared", name))
		}
	}
	r, err := bench.CompareSaved(runs[0], runs[1], names[0], names[1])
	if err != nil {
		return failed(err)
	}
	f, err := out.open()
	if err != nil {
		return err
	}
	defer f.discard()
	if err := s.show(out, f, result{r, r.Page()}); err != nil {
		return failed(err)
	}
	return nil
}
