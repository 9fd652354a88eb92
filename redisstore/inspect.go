package redisstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Server is what a store finds where it connects.
type Server struct {
	// Name is Redis or Valkey.
	Name string
	// Version is the server's.
	Version string
	// Mode is standalone, sentinel or cluster, as the server calls it.
	Mode string
	// ClockAhead is how far the server's clock is ahead of this one, known to half of
	// RoundTrip. It decides nothing: all instants are the server's.
	ClockAhead time.Duration
	// RoundTrip is how long the server took to tell the time.
	RoundTrip time.Duration
}

// Inspect asks the server, of a cluster one of them, what it is. It is for a word
// at the start: a store needs no inspection. If ctx ends first its error is returned,
// and the question goes on.
func (s *Store) Inspect(ctx context.Context) (Server, error) {
	var found Server
	answer := make(chan error, 1)
	go func() {
		var err error
		found, err = s.inspect()
		answer <- err
	}()
	select {
	case err := <-answer:
		return found, err
	case <-ctx.Done():
		return Server{}, ctx.Err()
	}
}

func (s *Store) inspect() (Server, error) {
	c, err := s.link.client()
	if err != nil {
		return Server{}, err
	}
	info, err := do(c, c.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return Server{}, unavailable(err)
	}
	found := readInfo(info)
	s.teach(c)
	before := time.Now()
	at, err := do(c, c.B().Time().Build()).AsStrSlice()
	if err != nil {
		return Server{}, unavailable(err)
	}
	if len(at) != 2 {
		return Server{}, unavailable(errAnswer)
	}
	found.RoundTrip = time.Since(before)
	seconds, _ := strconv.ParseInt(at[0], 10, 64)
	micros, _ := strconv.ParseInt(at[1], 10, 64)
	found.ClockAhead = time.Unix(seconds, micros*1000).Sub(before.Add(found.RoundTrip / 2)).Round(time.Microsecond)
	return found, nil
}

// teach sends the scripts to all servers, so that the first decisions need not wait
// until they are compiled. One that may not be taught learns it from the first of them.
func (s *Store) teach(c rueidis.Client) {
	for _, node := range c.Nodes() {
		_ = do(node, node.B().ScriptLoad().Script(s.script.text).Build()).Error()
		for _, l := range s.lones {
			if l != nil {
				_ = do(node, node.B().ScriptLoad().Script(l.one.text).Build()).Error()
				_ = do(node, node.B().ScriptLoad().Script(l.few.text).Build()).Error()
			}
		}
	}
}

// readInfo reads the section server of INFO. Valkey tells a version of Redis too.
func readInfo(info string) Server {
	s := Server{Name: "Redis"}
	valkey := ""
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "redis_version":
			s.Version = value
		case "valkey_version":
			valkey = value
		case "redis_mode", "server_mode":
			s.Mode = value
		}
	}
	if valkey != "" {
		s.Name, s.Version = "Valkey", valkey
	}
	return s
}
