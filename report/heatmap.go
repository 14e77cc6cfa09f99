package report

import (
	"fmt"
	"math"
)

// HeatMap draws how often values of each size came in each stretch of the X
// axis: the darker a cell, the more of them. It shows what quantiles hide, such
// as two groups of values or a few that stand apart.
type HeatMap struct {
	// Title names what is drawn.
	Title string
	// Caption says how to read it and what it means; may be empty.
	Caption string
	// XAxis and YAxis are the axes.
	XAxis, YAxis Axis
	// X and Y are the edges of the columns and rows, ascending: one more than
	// there are columns and rows.
	X, Y []float64
	// Counts holds the cells, column by column.
	Counts [][]int64
	// What names that which is counted, such as "requests".
	What string
}

// check reports what would make the map lie or fail to draw.
func (m *HeatMap) check() error {
	for _, a := range []Axis{m.XAxis, m.YAxis} {
		if err := a.check(m.Title); err != nil {
			return err
		}
	}
	for _, e := range []struct {
		name  string
		axis  Axis
		edges []float64
		cells int
	}{{"x", m.XAxis, m.X, len(m.Counts)}, {"y", m.YAxis, m.Y, m.rows()}} {
		if len(e.edges) != e.cells+1 || e.cells == 0 {
			return fmt.Errorf("report: heat map %q: %d %s edges for %d cells (want one more, and at least one cell)", m.Title, len(e.edges), e.name, e.cells)
		}
		for i, v := range e.edges {
			if math.IsNaN(v) || math.IsInf(v, 0) || i > 0 && v <= e.edges[i-1] {
				return fmt.Errorf("report: heat map %q: %s[%d] = %v is not finite and ascending", m.Title, e.name, i, v)
			}
			if e.axis.LogBase != 0 && v <= 0 {
				return fmt.Errorf("report: heat map %q: %s[%d] = %v on a logarithmic axis", m.Title, e.name, i, v)
			}
		}
	}
	for i, column := range m.Counts {
		if len(column) != m.rows() {
			return fmt.Errorf("report: heat map %q: column %d has %d cells, column 0 has %d", m.Title, i, len(column), m.rows())
		}
	}
	return nil
}

func (m *HeatMap) rows() int {
	if len(m.Counts) == 0 {
		return 0
	}
	return len(m.Counts[0])
}

// heatData is what the page's script reads.
type heatData struct {
	X      []float64 `json:"x"`
	Y      []float64 `json:"y"`
	XAxis  axisData  `json:"xAxis"`
	YAxis  axisData  `json:"yAxis"`
	What   string    `json:"what"`
	Counts [][]int64 `json:"counts"`
}

func (m *HeatMap) data() heatData {
	return heatData{X: m.X, Y: m.Y, XAxis: m.XAxis.data(), YAxis: m.YAxis.data(), What: m.What, Counts: m.Counts}
}
