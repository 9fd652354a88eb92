package stint

import (
	"context"
	"slices"
	"sync"
	"time"
)

// lines are the queues of requests that were admitted with a delay, one line for
// each bucket. A request that gives up its place moves those behind it forward.
//
// A line knows the requests of this process. Where several processes share a
// store each keeps its own line: a place given up is then free for whoever comes
// next, but does not move the requests that wait elsewhere.
type lines struct {
	mu sync.Mutex
	of map[string]*line
}

// line holds the waiting requests of one bucket in the order of their release.
type line struct {
	name    string
	waiting []*waiter
}

// waiter is one request in a line.
type waiter struct {
	release time.Time
	moved   chan struct{} // holds a token when release has changed
}

// place is a request's position in the line of one bucket. It is taken when the
// request begins to wait.
type place struct {
	limiter *Limiter
	charge  Charge
	delay   time.Duration
	line    *line
	waiter  *waiter
}

// bucketName frames the policy and the key of a charge. A name is shorter than a
// byte can say.
func bucketName(c *Charge) string {
	return string(rune(len(c.Policy.Name))) + c.Policy.Name + string(c.Key)
}

// delayed notes the charges that delay an admitted request.
func (l *Limiter) delayed(charges []Charge, verdicts []Verdict, places []place) []place {
	for i := range charges {
		if c := charges[i]; verdicts[i].Delay > 0 && !c.Shadow {
			c.Key = slices.Clone(c.Key)
			places = append(places, place{limiter: l, charge: c, delay: verdicts[i].Delay})
		}
	}
	return places
}

// join puts the request into the line of its bucket.
func (p *place) join() {
	ls := &p.limiter.lines
	ls.mu.Lock()
	defer ls.mu.Unlock()
	name := bucketName(&p.charge)
	ln := ls.of[name]
	if ln == nil {
		if ls.of == nil {
			ls.of = make(map[string]*line)
		}
		ln = &line{name: name}
		ls.of[name] = ln
	}
	p.line, p.waiter = ln, &waiter{release: time.Now().Add(p.delay), moved: make(chan struct{}, 1)}
	ln.insert(p.waiter)
}

// insert keeps the line in the order of release, later comers last.
func (ln *line) insert(w *waiter) {
	i := len(ln.waiting)
	for i > 0 && ln.waiting[i-1].release.After(w.release) {
		i--
	}
	ln.waiting = slices.Insert(ln.waiting, i, w)
}

// leave takes w out of its line, and the line away when it is empty. It reports
// whether w was still in it.
func (ls *lines) leave(ln *line, w *waiter) bool {
	i := slices.Index(ln.waiting, w)
	if i < 0 {
		return false
	}
	ln.waiting = slices.Delete(ln.waiting, i, i+1)
	if len(ln.waiting) == 0 {
		delete(ls.of, ln.name)
	}
	return true
}

// giveUp takes w out of its line and moves those behind it forward by what its
// cost is worth. It reports whether w still had a place to give back.
func (ls *lines) giveUp(ln *line, w *waiter, worth time.Duration) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	i := slices.Index(ln.waiting, w)
	if i < 0 || !w.release.After(time.Now()) {
		ls.leave(ln, w)
		return false
	}
	for _, b := range ln.waiting[i+1:] {
		b.release = b.release.Add(-worth)
		select {
		case b.moved <- struct{}{}:
		default:
		}
	}
	return ls.leave(ln, w)
}

// releaseOf reads the moment at which w may go.
func (ls *lines) releaseOf(w *waiter) time.Time {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return w.release
}

// wait blocks until the request's turn has come in this line.
func (p *place) wait(ctx context.Context) error {
	ls := &p.limiter.lines
	timer := time.NewTimer(time.Until(ls.releaseOf(p.waiter)))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			ls.mu.Lock()
			ls.leave(p.line, p.waiter)
			ls.mu.Unlock()
			return nil
		case <-p.waiter.moved:
			timer.Reset(time.Until(ls.releaseOf(p.waiter)))
		case <-ctx.Done():
			p.giveBack(ctx)
			return ctx.Err()
		}
	}
}

// worth is the time in which the limit lets the charge's cost through.
func (p *place) worth() time.Duration {
	l := p.charge.Policy.Limit
	return time.Duration(float64(l.Window) / float64(l.Count) * float64(p.charge.Cost))
}

// giveBack leaves the line and returns the cost to the bucket.
func (p *place) giveBack(ctx context.Context) {
	l := p.limiter
	if !l.lines.giveUp(p.line, p.waiter, p.worth()) {
		return
	}
	c := p.charge
	c.Ask = Ask{Cost: -c.Cost}
	var v [1]Verdict
	// A store that fails here keeps the cost: the bucket stays a little too full
	// for a while, which is the safe side.
	_, _ = l.Store.Take(context.WithoutCancel(ctx), l.now(), []Charge{c}, v[:])
}

// Wait blocks until an allowed request may go on: for Delay, or shorter if
// requests before it in a queue give up. It returns at once when there is no
// delay. If ctx ends first the request gives its place in the queue back and
// Wait returns ctx.Err(); if ctx's deadline is too early it does so at once, with
// context.DeadlineExceeded. It is called at most once for a decision, soon after
// it was made. For a decision made by Clone, or one without Results such as that
// of Allow, Wait only waits.
func (d *Decision) Wait(ctx context.Context) error {
	if d.Delay <= 0 {
		return nil
	}
	var places []place
	if d.held != nil {
		places = d.held.places
	}
	for i := range places {
		places[i].join()
	}
	if tooLate(ctx, d.Delay) {
		giveBackAll(ctx, places)
		return context.DeadlineExceeded
	}
	if len(places) == 0 {
		return sleep(ctx, d.Delay)
	}
	for i := range places {
		if err := places[i].wait(ctx); err != nil {
			giveBackAll(ctx, places[i+1:])
			return err
		}
	}
	return nil
}

func giveBackAll(ctx context.Context, places []place) {
	for i := range places {
		places[i].giveBack(ctx)
	}
}

// sleep blocks for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
