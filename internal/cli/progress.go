package cli

import (
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/evenkeel-go/evenkeel/bench"
	"github.com/evenkeel-go/evenkeel/report"
)

// progress shows events on standard error: as a bar on a terminal, elsewhere as
// one line for each phase and note. One goroutine draws, so that events may come
// from any other and no lock is held while a slow terminal takes its text.
type progress struct {
	s       *session
	events  chan bench.Event
	closing chan struct{}          // closed by close
	drawn   chan struct{}          // closed when the goroutine has ended
	status  atomic.Pointer[string] // of the last event; read by the bar

	// The goroutine's own.
	screen *mpb.Progress // nil unless standard error is a terminal
	bar    *mpb.Bar
	phase  string
}

// eventBuffer is how many events may wait for the terminal. A tick that finds no
// room is dropped: the next one says the same.
const eventBuffer = 64

func (s *session) newProgress(quiet bool) *progress {
	p := &progress{
		s:       s,
		events:  make(chan bench.Event, eventBuffer),
		closing: make(chan struct{}),
		drawn:   make(chan struct{}),
	}
	if quiet {
		close(p.closing)
		close(p.drawn)
		return p
	}
	if isTerminal(s.Stderr) {
		p.screen = mpb.New(mpb.WithOutput(s.Stderr), mpb.WithWidth(64))
	}
	go p.loop()
	return p
}

// event may be called from any goroutine, also after close.
func (p *progress) event(e bench.Event) {
	select {
	case <-p.closing:
		return
	default:
	}
	if e.Note == "" && e.Elapsed > 0 {
		select {
		case p.events <- e:
		default:
		}
		return
	}
	select {
	case p.events <- e:
	case <-p.closing:
	}
}

// close draws what is left, takes the bar off the screen and waits until it is
// gone. It is called once.
func (p *progress) close() {
	select {
	case <-p.closing: // quiet
	default:
		close(p.closing)
	}
	<-p.drawn
}

func (p *progress) loop() {
	defer close(p.drawn)
	for closing := false; !closing; {
		select {
		case e := <-p.events:
			p.draw(e)
		case <-p.closing:
			closing = true
		}
	}
	for {
		select {
		case e := <-p.events:
			p.draw(e)
			continue
		default:
		}
		p.end()
		if p.screen != nil {
			p.screen.Wait()
		}
		return
	}
}

func (p *progress) draw(e bench.Event) {
	if e.Phase != "" && e.Phase != p.phase {
		p.phase = e.Phase
		p.begin(e)
	}
	if e.Status != "" {
		status := " " + report.Line(e.Status)
		p.status.Store(&status)
	}
	if p.bar != nil && e.Total > 0 {
		p.bar.SetCurrent(min(e.Elapsed, e.Total).Milliseconds())
	}
	if e.Note != "" {
		p.line(e.Note)
	}
}

func (p *progress) begin(e bench.Event) {
	if p.screen == nil {
		line := e.Phase
		if e.Total > 0 {
			line += " (" + report.Duration(e.Total) + ")"
		}
		p.line(line)
		return
	}
	p.end()
	p.status.Store(nil)
	p.bar = p.screen.AddBar(max(e.Total.Milliseconds(), 1),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(report.Line(e.Phase), decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Percentage(), decor.Any(func(decor.Statistics) string {
			if status := p.status.Load(); status != nil {
				return *status
			}
			return ""
		})),
	)
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bar.Wait()
		p.bar = nil
	}
}

func (p *progress) line(text string) {
	if p.screen == nil {
		p.s.say(text)
		return
	}
	// Above the bar. There is nowhere to report that this failed.
	_, _ = p.screen.Write([]byte(report.Line(text) + "\n"))
}
