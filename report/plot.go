package report

import (
	"fmt"
	"math"
)

// Plot draws one or more series over a common axis.
type Plot struct {
	// Title names what is drawn.
	Title string
	// Caption says how to read it and what it means; may be empty.
	Caption string
	// XAxis and YAxis are the axes.
	XAxis, YAxis Axis
	// X holds the positions, ascending; every series has one value for each.
	X []float64
	// Series are drawn in order; their names make the legend.
	Series []Series
	// Bands shade stretches of the X axis, such as the time of a fault.
	Bands []Band
}

// Axis describes one axis of a [Plot] or a [HeatMap].
type Axis struct {
	// Label says what is measured.
	Label string
	// Unit is shown in the label and the legend; empty for counts.
	Unit string
	// LogBase is 0 for a linear axis, or 2 or 10 for a logarithmic one, on
	// which values at or below zero are left out.
	LogBase int
}

func (a Axis) check(plot string) error {
	if a.LogBase != 0 && a.LogBase != 2 && a.LogBase != 10 {
		return fmt.Errorf("report: plot %q: log base %d (want 0, 2 or 10)", plot, a.LogBase)
	}
	return nil
}

func (a Axis) data() axisData { return axisData{a.Label, a.Unit, a.LogBase} }

// Series is one line of a [Plot].
type Series struct {
	// Name is shown in the legend.
	Name string
	// Y holds one value per X. NaN and infinities leave a gap.
	Y []float64
	// Step draws each value as a level that ends at its X, for values that
	// were counted over the interval before it.
	Step bool
	// Dashed marks a line that was not measured: an expectation or a limit.
	Dashed bool
}

// Band is a shaded stretch of the X axis.
type Band struct {
	// From and To bound it, in units of the X axis.
	From, To float64
	// Label is written at its top; may be empty.
	Label string
}

// check reports what would make the plot lie or fail to draw.
func (p *Plot) check() error {
	for _, a := range []Axis{p.XAxis, p.YAxis} {
		if err := a.check(p.Title); err != nil {
			return err
		}
	}
	for i, x := range p.X {
		if math.IsNaN(x) || math.IsInf(x, 0) || (i > 0 && x < p.X[i-1]) {
			return fmt.Errorf("report: plot %q: x[%d] = %v is not finite and ascending", p.Title, i, x)
		}
		if p.XAxis.LogBase != 0 && x <= 0 {
			return fmt.Errorf("report: plot %q: x[%d] = %v on a logarithmic axis", p.Title, i, x)
		}
	}
	for _, b := range p.Bands {
		if math.IsNaN(b.From-b.To) || math.IsInf(b.From-b.To, 0) {
			return fmt.Errorf("report: plot %q: band %q is not finite", p.Title, b.Label)
		}
	}
	for _, s := range p.Series {
		if len(s.Y) != len(p.X) {
			return fmt.Errorf("report: plot %q: series %q has %d values for %d positions", p.Title, s.Name, len(s.Y), len(p.X))
		}
	}
	return nil
}

// plotData is what the page's script reads; a nil value is a gap.
type plotData struct {
	X      []float64    `json:"x"`
	XAxis  axisData     `json:"xAxis"`
	YAxis  axisData     `json:"yAxis"`
	Series []seriesData `json:"series"`
	Bands  []bandData   `json:"bands"`
}

type axisData struct {
	Label string `json:"label"`
	Unit  string `json:"unit"`
	Log   int    `json:"log"`
}

type seriesData struct {
	Name   string     `json:"name"`
	Y      []*float64 `json:"y"`
	Step   bool       `json:"step"`
	Dashed bool       `json:"dashed"`
}

type bandData struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Label string  `json:"label"`
}

func (p *Plot) data() plotData {
	d := plotData{
		X:      append([]float64{}, p.X...),
		XAxis:  p.XAxis.data(),
		YAxis:  p.YAxis.data(),
		Series: []seriesData{},
		Bands:  []bandData{},
	}
	for _, s := range p.Series {
		out := seriesData{Name: s.Name, Y: make([]*float64, len(s.Y)), Step: s.Step, Dashed: s.Dashed}
		for i, y := range s.Y {
			drawable := !math.IsNaN(y) && !math.IsInf(y, 0) && (p.YAxis.LogBase == 0 || y > 0)
			if drawable {
				out.Y[i] = &s.Y[i]
			}
		}
		d.Series = append(d.Series, out)
	}
	for _, b := range p.Bands {
		d.Bands = append(d.Bands, bandData(b))
	}
	return d
}
