package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

// waitTurn is how long each limiter is waited on in a round.
const waitTurn = 400 * time.Millisecond

// waitTable measures how much of the limit callers get who wait for it.
func waitTable(w io.Writer, rounds int) ([]measure.Goal, error) {
	rows := make([]waitRow, len(field.Waiters()))
	head := []string{"Wait, burst 1: part of the limit"}
	var goals []measure.Goal
	for _, perSecond := range []int{200, 1000, 5000} {
		for _, workers := range []int{1, 8} {
			head = append(head, fmt.Sprintf("%d/s, %d", perSecond, workers))
			for i, e := range field.Waiters() {
				rows[i].name, rows[i].parts = e.Name, nil
			}
			for range rounds {
				for i, e := range field.Waiters() {
					if err := rows[i].turn(e.Open(perSecond), perSecond, workers); err != nil {
						return nil, fmt.Errorf("%s: %w", e.Name, err)
					}
				}
			}
			for i := range rows {
				rows[i].end()
			}
			goals = append(goals, measure.Goal{
				What: fmt.Sprintf("Wait at %d/s, workers: %d: of the limit", perSecond, workers), Want: 0.99, AtLeast: true, Got: rows[0].medians[len(rows[0].medians)-1],
			})
		}
	}
	t := measure.NewTable(append(head, "most", "CPU µs each")...)
	for _, r := range rows {
		var cells []string
		for _, m := range r.medians {
			cells = append(cells, fmt.Sprintf("%.3f", m))
		}
		t.Row(append(append([]string{r.name}, cells...), fmt.Sprintf("%.4f", r.most), measure.Num(r.cpu/float64(r.passed)))...)
	}
	t.Write(w, "Waiting, by callers let through in a second and workers")
	return append(goals, measure.Goal{What: "Wait: the most of the limit in any turn", Want: 1, Got: rows[0].most}), nil
}

// waitRow is what one limiter let its callers have.
type waitRow struct {
	name    string
	parts   []float64 // of the limit, in each turn
	medians []float64
	most    float64
	passed  int
	cpu     float64 // microseconds
}

// turn lets workers wait for a while.
func (r *waitRow) turn(wait field.Wait, perSecond, workers int) (err error) {
	var w field.Waited
	start := time.Now()
	s := measure.Of(1, 1, func(int) { w, err = wait.Run(workers, start, waitTurn) })
	part := w.OfLimit(start, perSecond)
	r.parts, r.most = append(r.parts, part), max(r.most, part)
	r.passed, r.cpu = r.passed+w.Passed, r.cpu+s.CPU/1000
	return err
}

// end ends the turns at one rate.
func (r *waitRow) end() {
	slices.Sort(r.parts)
	r.medians = append(r.medians, r.parts[len(r.parts)/2])
}
