package bench

import (
	"fmt"
	"io"

	"github.com/evenkeel-go/evenkeel/report"
)

// Text writes the result for a terminal of the given width in columns; 0 means
// [report.DefaultWidth].
func (r *MaxClientsResult) Text(w io.Writer, width int) error {
	return report.WriteText(w, r.Page(), width)
}

// Page describes the result for a reader.
func (r *MaxClientsResult) Page() report.Page {
	p := report.Page{
		Title:   "What a full server does to its clients",
		Lead:    r.lead(),
		Figures: r.figures(),
		Facts:   r.Environment.facts(),
	}
	if r.Ramp != nil {
		p.Sections = append(p.Sections, r.limitSection())
	}
	if r.Newcomer != nil {
		p.Sections = append(p.Sections, r.fullSection())
	}
	if r.Client != nil {
		p.Sections = append(p.Sections, r.clientSection())
	}
	return interrupted(p, r.Interrupted)
}

func (r *MaxClientsResult) lead() string {
	if r.Ramp == nil {
		return "The server was not filled, so there is nothing to say about it."
	}
	text := fmt.Sprintf("With %s open the server was full, and turned %s away, each after %s.",
		report.Plural(r.Ramp.Before+r.Ramp.Accepted, "connection", "connections"), report.Plural(r.Ramp.Refused, "attempt", "attempts"), report.Micros(r.Ramp.RefuseP50Us))
	if r.Reserved != nil {
		text += fmt.Sprintf(" Over a connection that had been opened beforehand it could still be looked into: a PING took %s.", report.Micros(r.Reserved.PingP50Us))
	}
	if r.Reserved != nil && r.Newcomer != nil && r.Newcomer.Ended != "open" {
		text += " A new redis-cli could not enter: keep such a connection open before you need it."
	}
	if c := r.Client; c != nil && c.Dials > 0 && c.Calls-c.Served > c.Dials {
		text += fmt.Sprintf(" The Evenkeel client asked for %s for %s; a client that dials for each call would have asked %s as often.",
			report.Plural(c.Dials, "connection", "connections"), report.Plural(c.Calls-c.Served, "failed call", "failed calls"), report.Times(float64(c.Calls-c.Served)/float64(c.Dials)))
	}
	return text
}

func (r *MaxClientsResult) figures() []report.Figure {
	var out []report.Figure
	if r.Ramp != nil {
		out = append(out, report.Figure{Label: "full at", Value: report.Int(r.Ramp.Before + r.Ramp.Accepted), Note: "connections"},
			report.Figure{Label: "turned away after", Value: report.Micros(r.Ramp.RefuseP50Us), Note: "p50"})
	}
	if b := r.Recovery; b != nil {
		out = append(out, report.Figure{Label: "a newcomer enters after", Value: millis(b.NewcomerMs), Note: "trying again and again"},
			report.Figure{Label: "an Evenkeel client is served after", Value: millis(b.ClientMs), Note: "its backoff included"})
	}
	return out
}

// millis formats a time in ms that may not have been reached.
func millis(ms *float64) string {
	if ms == nil {
		return "not in time"
	}
	return report.Micros(*ms * 1000)
}

func (r *MaxClientsResult) limitSection() report.Section {
	number := func(n *int) string {
		if n == nil {
			return "–"
		}
		return report.Int(*n)
	}
	rows := [][]string{}
	if r.Limits.Asked != nil {
		rows = append(rows, []string{"maxclients, as configured", number(r.Limits.Asked)})
	}
	rows = append(rows, []string{"maxclients, as the server says", number(r.Limits.Effective)})
	if n := r.Limits.Descriptors; n != nil {
		rows = append(rows, []string{"file descriptors of its process", report.Int(*n)},
			[]string{"… less those it keeps for itself", report.Int(max(*n-serverDescriptors, 0))})
	}
	ramp := r.Ramp
	rows = append(rows,
		[]string{"open beforehand", report.Int(ramp.Before)},
		[]string{"accepted", report.Int(ramp.Accepted)},
		[]string{"turned away", report.Int(ramp.Refused)},
		[]string{"failed otherwise", report.Int(ramp.Failed)},
	)
	s := report.Section{
		Heading: "The limit",
		Tables:  []report.Table{{Columns: []report.Column{{Name: "clients", Text: true}, {Name: "count"}}, Rows: rows}},
		Bars: []report.Bars{{
			Title: "Time to open a connection, or to be turned away",
			Items: []report.Bar{
				{Label: "accepted, p50", Value: ramp.AcceptP50Us, Text: report.Micros(ramp.AcceptP50Us)},
				{Label: "accepted, p99", Value: ramp.AcceptP99Us, Text: report.Micros(ramp.AcceptP99Us)},
				{Label: "turned away, p50", Value: ramp.RefuseP50Us, Text: report.Micros(ramp.RefuseP50Us)},
				{Label: "turned away, longest", Value: ramp.RefuseMaxUs, Text: report.Micros(ramp.RefuseMaxUs)},
			},
		}},
	}
	if asked, has := r.Limits.Asked, r.Limits.Effective; asked != nil && has != nil && *has < *asked {
		s.Prose = append(s.Prose, fmt.Sprintf("The server lowered its maxclients from %s to %s, for want of file descriptors, and said so only in its log: it needs %s (ulimit -n).",
			report.Int(*asked), report.Int(*has), report.Int(*asked+serverDescriptors)))
	} else if has != nil {
		s.Prose = append(s.Prose, fmt.Sprintf("For a maxclients of %s the server's process needs %s file descriptors (ulimit -n); with fewer it lowers the limit by itself, and says so only in its log.",
			report.Int(*has), report.Int(*has+serverDescriptors)))
	}
	return s
}

func (r *MaxClientsResult) fullSection() report.Section {
	n := r.Newcomer
	s := report.Section{Heading: "While it is full"}
	switch {
	case !n.Connected:
		s.Prose = append(s.Prose, "A newcomer could not even connect: "+n.Ended+".")
	case n.Ended == "open":
		s.Prose = append(s.Prose, "A newcomer was let in all the same: somebody had made room.")
	default:
		said := "without a word"
		if n.Said != "" {
			said = "with " + n.Said
		}
		s.Prose = append(s.Prose, fmt.Sprintf("A newcomer such as redis-cli connects, since the system accepts before the server looks, and %s later is %s, %s.",
			report.Micros(n.AfterUs), endings(n.Ended), said))
	}
	if seen := r.Reserved; seen != nil {
		text := fmt.Sprintf("A connection opened beforehand sees all: %s, a PING in %s", report.Plural(seen.Clients, "client", "clients"), report.Micros(seen.PingP50Us))
		if seen.Rejected != nil {
			text += fmt.Sprintf(", %s turned away so far (rejected_connections)", report.Int(*seen.Rejected))
		}
		if seen.Listed > 0 {
			text += fmt.Sprintf(", and %s in CLIENT LIST, from which the idle ones can be chosen and closed", report.Plural(seen.Listed, "line", "lines"))
		}
		s.Prose = append(s.Prose, text+".")
	}
	return s
}

func endings(ended string) string {
	if ended == "reset" {
		return "reset"
	}
	return "closed"
}

func (r *MaxClientsResult) clientSection() report.Section {
	c := r.Client
	rows := [][]string{
		{"calls", report.Int(c.Calls)},
		{"served", report.Int(c.Served)},
		{"connections asked for", report.Int(c.Dials)},
		{"time of a failed call, p50", report.Micros(c.FailP50Us)},
		{"the longest", report.Micros(c.FailMaxUs)},
	}
	if b := r.Recovery; b != nil {
		rows = append(rows,
			[]string{"room was made in", report.Micros(b.ClosedMs * 1000)},
			[]string{"a newcomer entered after", millis(b.NewcomerMs)},
			[]string{"the client was served after", millis(b.ClientMs)})
	}
	s := report.Section{
		Heading: "An Evenkeel client at the full server, and after",
		Tables: []report.Table{{
			Columns: []report.Column{{Name: "seen", Text: true}, {Name: "value"}}, Rows: rows,
			Caption: fmt.Sprintf("Default settings; %s for %s.", report.Plural(r.Params.Callers, "caller", "callers"), report.Micros(r.Params.WatchS*1e6)),
		}},
	}
	if c.Error != "" {
		s.Prose = append(s.Prose, "Its callers read: "+c.Error)
	}
	if c.Served > 0 {
		s.Prose = append(s.Prose, report.Plural(c.Served, "call was", "calls were")+" served: others had made room meanwhile.")
	}
	return s
}
