package main

import (
	"sync"
	"time"
)

// Bounds of lines about changes that come again and again.
const (
	dampedEvery = 30 * time.Second
	// dampedAtOnce is a failure and its end.
	dampedAtOnce = 2
)

// damped tells of changes without a line for each: in the long run one line every
// thirty seconds, and two at once where it has been quiet. Changes that are held back
// are told together, as the state after the last of them. The zero damped works.
type damped struct {
	mu    sync.Mutex
	full  time.Time   // when two lines may be written at once again
	timer *time.Timer // set while changes are held back
	held  int         // changes since the last line
	last  func(changes int)
}

// tell tells of a change: line writes one about the state now, after so many changes
// since the line before it, at least 1. Lines are written one at a time.
func (d *damped) tell(line func(changes int)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held, d.last = d.held+1, line
	if d.timer != nil {
		return
	}
	if wait := time.Until(d.full.Add(-(dampedAtOnce - 1) * dampedEvery)); wait > 0 {
		d.timer = time.AfterFunc(wait, d.flush)
		return
	}
	d.write()
}

// flush tells what is held back.
func (d *damped) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.held > 0 {
		d.write()
	}
}

// write writes the last line; d.mu is held.
func (d *damped) write() {
	now := time.Now()
	if d.full.Before(now) {
		d.full = now
	}
	d.full = d.full.Add(dampedEvery)
	d.last(d.held)
	d.held = 0
}
