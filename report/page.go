package report

// Page is everything one run has to say. Only Title is required.
type Page struct {
	// Title names the run in a few words.
	Title string
	// Lead is the one paragraph to read when reading only one.
	Lead string
	// Figures are the few numbers worth a big print, at most about six.
	Figures []Figure
	// Sections follow in the order given.
	Sections []Section
	// Facts say where the numbers come from: versions, machine, time.
	Facts []Fact
}

// Figure is one number that stands out, formatted by the caller with its unit.
type Figure struct {
	// Label says what the number is.
	Label string
	// Value is the number with its unit.
	Value string
	// Note sets it in relation; may be empty.
	Note string
}

// Fact is one line about the origin of the numbers.
type Fact struct {
	// Name and Value are shown side by side.
	Name, Value string
}

// Section is one part of a page. HTML shows its parts in the order of the
// fields: the words first, then pictures, then the numbers behind them.
type Section struct {
	// Heading is a few words; required.
	Heading string
	// Detail marks a section that only holds the numbers behind the others:
	// HTML moves it to the end and folds it up. Text keeps its place.
	Detail bool
	// Prose holds paragraphs of plain text.
	Prose []string
	// Bars compare a handful of values.
	Bars []Bars
	// Plots draw series over an axis; only HTML shows them, so whatever a plot
	// says must also be in a table.
	Plots []Plot
	// HeatMaps shade counts over two axes; like plots, only HTML shows them.
	HeatMaps []HeatMap
	// Tables hold the numbers.
	Tables []Table
}

// Table is a grid of formatted cells.
type Table struct {
	// Title stands above the table; may be empty.
	Title string
	// Caption stands below and explains the columns; may be empty.
	Caption string
	// Columns describe the cells of every row, from left to right.
	Columns []Column
	// Rows hold one cell per column. Missing cells are shown empty, cells
	// beyond the last column are ignored.
	Rows [][]string
}

// Column describes one column of a [Table].
type Column struct {
	// Name is the heading.
	Name string
	// Unit is shown under the name; empty for text and plain counts.
	Unit string
	// Text aligns the cells left. The zero value, right, suits numbers.
	Text bool
}

// Bars compares a handful of non-negative values of one unit by length.
type Bars struct {
	// Title names what is compared.
	Title string
	// Caption says what the comparison means; may be empty.
	Caption string
	// Items are drawn in order, relative to the largest value.
	Items []Bar
}

// Bar is one value of a [Bars].
type Bar struct {
	// Label names the value.
	Label string
	// Value gives the length. Negative, infinite and NaN values draw no bar.
	Value float64
	// Text is the value as shown, with its unit.
	Text string
}
