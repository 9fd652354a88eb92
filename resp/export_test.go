package resp

// RaceEnabled says that the race detector is on.
const RaceEnabled = raceEnabled

// Pending is how many bytes of answers are kept.
func Pending(s *Server) int64 { return s.pending.Load() }
