package measure

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a table in Markdown whose columns are also aligned for a terminal. The
// first column is text, the others are numbers.
type Table struct {
	rows [][]string
}

// NewTable returns a table with its head.
func NewTable(head ...string) *Table { return &Table{rows: [][]string{head}} }

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Write prints the table below a title.
func (t *Table) Write(w io.Writer, title string) {
	fmt.Fprintf(w, "%s\n\n", title)
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range t.rows {
		writeRow(w, row, widths)
		if i == 0 {
			writeRule(w, widths)
		}
	}
	fmt.Fprintln(w)
}

func writeRow(w io.Writer, row []string, widths []int) {
	for i, width := range widths {
		cell := ""
		if i < len(row) {
			cell = row[i]
		}
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
		if i == 0 {
			fmt.Fprintf(w, "| %s%s ", cell, pad)
		} else {
			fmt.Fprintf(w, "| %s%s ", pad, cell)
		}
	}
	fmt.Fprintln(w, "|")
}

func writeRule(w io.Writer, widths []int) {
	for i, width := range widths {
		if i == 0 {
			fmt.Fprintf(w, "| %s ", strings.Repeat("-", width))
		} else {
			fmt.Fprintf(w, "| %s: ", strings.Repeat("-", width-1))
		}
	}
	fmt.Fprintln(w, "|")
}

// Num writes a figure with as many digits as it deserves.
func Num(v float64) string {
	switch {
	case v < 0:
		return "-" + Num(-v)
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v < 0.005:
		return "0"
	}
	return fmt.Sprintf("%.2f", v)
}

// Goal is a figure that is to be at most, or at least, another.
type Goal struct {
	What    string
	Want    float64
	AtLeast bool
	Got     float64
	Unit    string
}

// Met says whether the figure is reached.
func (g Goal) Met() bool {
	if g.AtLeast {
		return g.Got >= g.Want
	}
	return g.Got <= g.Want
}

// WriteGoals prints goals and whether they are met, and nothing if there are none.
func WriteGoals(w io.Writer, goals []Goal) {
	if len(goals) == 0 {
		return
	}
	t := NewTable("target", "want", "got", "")
	for _, g := range goals {
		sign, said := "≤", "met"
		if g.AtLeast {
			sign = "≥"
		}
		if !g.Met() {
			said = "MISSED"
		}
		t.Row(g.What, fmt.Sprintf("%s %g%s", sign, g.Want, g.Unit), Num(g.Got)+g.Unit, said)
	}
	t.Write(w, "Targets")
}
