package cli

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/internal/typo"
	"github.com/evenkeel-go/evenkeel/report"
)

// Exit codes of Run.
const (
	// ExitDone means that the command did what it was asked.
	ExitDone = 0
	// ExitFindings means that it did, and a threshold was missed.
	ExitFindings = 1
	// ExitUsage means that the arguments were wrong and nothing was run.
	ExitUsage = 2
	// ExitFailed means that it could not connect, failed, or was interrupted.
	ExitFailed = 3
)

// failure is an error with its exit code. An error without one comes from
// parsing arguments and is one of usage.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failed(err error) error { return &failure{ExitFailed, err} }

// exit prints the error as one line and returns its code.
func (s *session) exit(err error) int {
	if err == nil {
		return ExitDone
	}
	code := ExitUsage
	if f, ok := errors.AsType[*failure](err); ok {
		code = f.code
	}
	text := err.Error()
	if o, ok := errors.AsType[*bench.OptionError](err); ok {
		text = "--" + o.Error()
	}
	text = s.mask(text)
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, evenkeel.ErrAuth):
		text += "; here a password comes from the URL, EVENKEEL_PASSWORD, REDISCLI_AUTH or --password-file"
	case errors.As(err, &cert):
		text += "; here these are --cacert and --sni"
	}
	// The client's errors name it themselves.
	s.say("evenkeel: " + shorten(strings.TrimPrefix(text, "evenkeel: ")))
	return code
}

// mask hides the passwords in use.
func (s *session) mask(text string) string {
	for _, secret := range s.secrets {
		text = mask(text, secret)
	}
	return text
}

// mask hides a password where it stands as a word of its own. One of a letter or two is in
// every text; masking it would show it.
func mask(text, secret string) string {
	if len(secret) <= 3 {
		return text
	}
	isWord := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, secret)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		last, _ := utf8.DecodeLastRuneInString(b.String())
		next, _ := utf8.DecodeRuneInString(after)
		if isWord(last) || isWord(next) {
			b.WriteString(secret)
		} else {
			b.WriteString("***")
		}
		text = after
	}
}

// say prints one line on standard error. There is nowhere to report that this
// failed.
func (s *session) say(line string) {
	_, _ = io.WriteString(s.Stderr, report.Line(strings.TrimRight(line, " \r\n"))+"\n")
}

// warn says a line, but not twice.
func (s *session) warn(line string) {
	if !slices.Contains(s.warned, line) {
		s.warned = append(s.warned, line)
		s.say(line)
	}
}

// flagError says what to do about a flag that could not be parsed.
func flagError(cmd *cobra.Command, err error) error {
	see := fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	// pflag takes an undefined -h for help, which it never is here.
	if errors.Is(err, pflag.ErrHelp) {
		return fmt.Errorf("-h is the host, and this command connects to none; %s", see)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() == "" {
			if near := nearestFlag(cmd, name); near != "" {
				return fmt.Errorf("unknown flag --%s; did you mean --%s? %s", name, near, see)
			}
			return fmt.Errorf("unknown flag --%s; %s", name, see)
		}
		return fmt.Errorf("unknown flag -%s; %s", name, see)
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		// Not the value: -p is the port here, and elsewhere a password.
		name, wanted := bad.GetFlag().Name, bad.GetFlag().Value.Type()
		switch {
		case errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("--%s: the number is out of any bounds; %s", name, see)
		case wanted == "int", wanted == "int64":
			return fmt.Errorf("--%s must be a whole number; %s", name, see)
		case wanted == "duration":
			return fmt.Errorf("--%s must be a duration, such as 500ms or 1m30s, of at most some years; %s", name, see)
		default:
			return fmt.Errorf("--%s: this is no %s; %s", name, wanted, see)
		}
	}
	return fmt.Errorf("%w; %s", err, see)
}

// maxError is how much of an error is shown, in bytes: an argument may be of any length.
const maxError = 1000

// shorten cuts the middle out of a text that is too long for a reader.
func shorten(text string) string {
	if len(text) <= maxError {
		return text
	}
	const end = maxError / 3
	return strings.ToValidUTF8(text[:maxError-end], "") + " … " + strings.ToValidUTF8(text[len(text)-end:], "")
}

// nearestFlag returns the flag of cmd that name was most likely meant to be.
func nearestFlag(cmd *cobra.Command, name string) string {
	best, distance := "", len(name)/3+2
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		d := typo.Distance(name, f.Name)
		if strings.HasPrefix(f.Name, name) {
			d = 1
		}
		if !f.Hidden && d < distance {
			best, distance = f.Name, d
		}
	})
	return best
}

// subcommand refuses the arguments of a command that only holds others.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		// Of two as near, the one of more letters has more of them right.
		nearest := slices.MinFunc(near, func(a, b string) int {
			return cmp.Or(cmp.Compare(typo.Distance(args[0], a), typo.Distance(args[0], b)), cmp.Compare(len(b), len(a)))
		})
		return fmt.Errorf("unknown command %q; did you mean '%s %s'?", args[0], cmd.CommandPath(), nearest)
	}
	return fmt.Errorf("unknown command %q; give %s", args[0], commandNames(cmd))
}

func commandNames(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" {
			names = append(names, c.Name())
		}
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	return strings.Join(names, "")
}

// noArgs refuses arguments that are not flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		// Not which: it may be a password that strayed from its flag.
		return fmt.Errorf("unexpected arguments that belong to no flag (%d); see '%s --help'", len(args), cmd.CommandPath())
	}
	return nil
}
