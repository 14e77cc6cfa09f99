package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/evenkeel-go/evenkeel/report"
)

// outputFlags say in which forms a result is wanted.
type outputFlags struct {
	json  bool
	html  string
	quiet bool

	// For results that have these forms.
	csv bool
	hdr string
}

func (o *outputFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&o.json, "json", false, "print one JSON document on standard output, and nothing else there")
	fs.StringVar(&o.html, "html", o.html, "write a self-contained page with plots to `FILE`")
	fs.BoolVar(&o.quiet, "quiet", false, "no plan, progress or notes on standard error")
}

// registerRun is for the results of runs, which have more forms.
func (o *outputFlags) registerRun(fs *pflag.FlagSet) {
	o.register(fs)
	fs.BoolVar(&o.csv, "csv", false, "print CSV on standard output, a line for each command, and nothing else there")
	fs.StringVar(&o.hdr, "hdr", "", "write the time series as an HDR histogram log to `FILE`")
}

// files are those that a result goes to; nil where none is wanted.
type files struct{ html, hdr *outFile }

// open prepares the files, so that a path that cannot be written is known before the run
// and not after it.
func (o *outputFlags) open() (files, error) {
	if o.json && o.csv {
		return files{}, errors.New("--json and --csv are two forms for one output; give one of them")
	}
	html, err := openFile("html", o.html)
	if err != nil {
		return files{}, err
	}
	hdr, err := openFile("hdr", o.hdr)
	if err != nil {
		html.discard()
		return files{}, err
	}
	return files{html, hdr}, nil
}

// discard removes what was not completed.
func (f *files) discard() {
	f.html.discard()
	f.hdr.discard()
}

// outFile becomes the file at path once it is complete: a run that fails leaves an
// earlier one as it was.
type outFile struct {
	f    *os.File
	path string
	done bool
}

// openFile returns nil if the flag is not given.
func openFile(flag, path string) (*outFile, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("--%s: %s is a directory; give a file", flag, path)
	}
	// Beside its place, so that the rename stays within one file system.
	f, err := os.CreateTemp(filepath.Dir(path), ".evenkeel-*."+flag)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w; give a file in a directory that can be written", flag, cause(err))
	}
	return &outFile{f: f, path: path}, nil
}

// cause drops the temporary file's name, which means nothing to the user.
func cause(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", filepath.Dir(p.Path), p.Err)
	}
	return err
}

func (o *outFile) write(content func(io.Writer) error) error {
	err := content(o.f)
	err = errors.Join(err, o.f.Chmod(0o644), o.f.Close())
	if err == nil {
		err = os.Rename(o.f.Name(), o.path)
	}
	if err != nil {
		return fmt.Errorf("%s could not be written: %w", o.path, err)
	}
	o.done = true
	return nil
}

// discard removes what was not completed. It may be called on nil, and twice.
func (o *outFile) discard() {
	if o == nil || o.done {
		return
	}
	// Nothing was promised yet, and closing twice does no harm.
	_ = o.f.Close()
	_ = os.Remove(o.f.Name())
}

// result is what is shown: a JSON document, as a page.
type result struct {
	doc  any
	page report.Page
}

// show writes the result in the forms that were asked for.
func (s *session) show(out *outputFlags, f files, r result) error {
	var err error
	switch tables, ok := r.doc.(interface{ CSV(w io.Writer) error }); {
	case out.json:
		err = report.WriteJSON(s.Stdout, r.doc)
	case out.csv && ok:
		err = tables.CSV(s.Stdout)
	case out.csv:
		return errors.New("--csv is for runs; this result has --json")
	default:
		err = report.WriteText(s.Stdout, r.page, terminalWidth(s.Stdout))
	}
	if err != nil {
		return fmt.Errorf("the result could not be written: %w", err)
	}
	if f.html != nil {
		if err := f.html.write(func(w io.Writer) error { return report.WriteHTML(w, r.page) }); err != nil {
			return err
		}
		if !out.quiet {
			s.say("the page is in " + out.html)
		}
	}
	if f.hdr != nil {
		series, ok := r.doc.(interface{ HDRLog(w io.Writer) error })
		if !ok {
			return errors.New("--hdr is for runs; this result has no histograms over time")
		}
		return f.hdr.write(series.HDRLog)
	}
	return nil
}

// terminalWidth returns the columns of a terminal, or 0 if w is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
