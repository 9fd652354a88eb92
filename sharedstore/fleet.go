package sharedstore

// Fleet is how many servers share the limits while Redis fails. The zero Fleet leaves
// it to the heartbeat in Redis alone.
type Fleet struct {
	// Servers is how many there are. 0 means that they are counted.
	Servers int
	// AtLeast is the least that a count is taken for. 0 means 1. It also holds for a
	// server that starts while Redis is down, which would otherwise believe that it is
	// alone and admit the full limit.
	AtLeast int
	// DNS is a name that has an address for each server, as that of a headless service
	// has. It is looked up every five seconds. Empty means that none is.
	DNS string
}

// FleetChange is what a way of counting the servers has found.
type FleetChange struct {
	// DNS is the name that was looked up, empty for the heartbeat in Redis.
	DNS string
	// Servers is how many there are by this way of counting. With an Err it is the
	// last known number, which stays.
	Servers int
	// Err is why they cannot be counted any longer.
	Err error
}

// FleetSize is how many servers share the limits: as many as the options say, or the
// largest number that is known otherwise. It does not wait.
func (s *Store) FleetSize() int {
	if s.fleet.Servers > 0 {
		return s.fleet.Servers
	}
	size := max(s.fleet.AtLeast, 1)
	if s.heartbeat != nil {
		size = max(size, s.heartbeat.Size())
	}
	if s.names != nil {
		size = max(size, int(s.names.size.Load()))
	}
	return size
}

// heard tells of a change.
func (o *Options) heard(c FleetChange) {
	if o.FleetChanged != nil {
		o.FleetChanged(c)
	}
}
