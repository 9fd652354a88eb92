// Package field opens the limiters that Stint is measured beside, each the way
// its own documentation shows.
package field

import "time"

// Quota is what every limiter is asked to keep: Count in a Window, Count at once.
type Quota struct {
	Count  int64
	Window time.Duration
}

// interval is the time between two units.
func (q Quota) interval() time.Duration { return q.Window / time.Duration(q.Count) }

// Limiter is one limiter under measurement.
type Limiter struct {
	// Allow asks for one unit of key's bucket.
	Allow func(key string) bool
	// Close ends what the limiter runs in the background.
	Close func()
}

// Entry is a limiter of the field.
type Entry struct {
	Name string
	// Keyed says that it keeps a bucket for each key. The others have one only
	// and are shown for the cost of that one.
	Keyed bool
	// Blocks says that it sleeps where others refuse.
	Blocks bool
	Open   func(Quota) Limiter
}

// Stint is the name of the first entry.
const Stint = "stint"

// Entries lists the field, Stint first.
func Entries() []Entry {
	return []Entry{
		{Name: Stint, Keyed: true, Open: openStint},
		{Name: "x/time/rate, mutex+map", Keyed: true, Open: openOneMutex},
		{Name: "x/time/rate, 256 shards", Keyed: true, Open: openSharded},
		{Name: "x/time/rate, sync.Map", Keyed: true, Open: openRateMap},
		{Name: "sethvargo/go-limiter", Keyed: true, Open: openGoLimiter},
		{Name: "throttled/v2", Keyed: true, Open: openThrottled},
		{Name: "ulule/limiter/v3", Keyed: true, Open: openUlule},
		{Name: "go-chi/httprate", Keyed: true, Open: openHTTPRate},
		{Name: "failsafe-go, sync.Map", Keyed: true, Open: openFailsafe},
		{Name: "juju/ratelimit, sync.Map", Keyed: true, Open: openJuju},
		{Name: "uber-go/ratelimit (1 bucket)", Blocks: true, Open: openUber},
	}
}

// ByName returns the entry called name.
func ByName(name string) (Entry, bool) {
	for _, e := range Entries() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

func nothing() {}

// must gives v back. The arguments of the constructors here are constants, so an
// error is a fault of this program.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
