package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/stint-dev/stint/bench/field"
)

// servers are one server, or the masters of a cluster.
type servers []*server

func (all servers) stop() {
	for _, s := range all {
		s.stop()
	}
}

// at is where limiters find them.
func (all servers) at(callers int) field.Redis {
	r := field.Redis{Cluster: len(all) > 1, Callers: callers}
	for _, s := range all {
		r.Addrs = append(r.Addrs, s.addr)
	}
	return r
}

// clear forgets all keys.
func (all servers) clear() error {
	for _, s := range all {
		if err := s.do("FLUSHALL", "SYNC"); err != nil {
			return err
		}
	}
	return nil
}

// slots is how many parts a cluster places keys in.
const slots = 1 << 14

// startCluster starts a cluster of masters alone.
func startCluster(n int) (servers, error) {
	var all servers
	for range n {
		s, err := startNode()
		if err != nil {
			all.stop()
			return nil, err
		}
		all = append(all, s)
	}
	if err := all.join(); err != nil {
		all.stop()
		return nil, err
	}
	return all, nil
}

func startNode() (*server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	_, bus, _ := net.SplitHostPort(addr)
	s, err := startServer("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", bus)
	if err != nil {
		return nil, err
	}
	s.bus = bus
	return s, nil
}

// join makes a cluster of the servers and waits until all of them agree.
func (all servers) join() error {
	n := len(all)
	host, port, _ := net.SplitHostPort(all[0].addr)
	for i, s := range all {
		if err := s.do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		if err := s.do("CLUSTER", "ADDSLOTSRANGE", slots*i/n, slots*(i+1)/n-1); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		if err := s.do("CLUSTER", "MEET", host, port, all[0].bus); err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(2 * patience); !all.agree(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("the nodes of the cluster do not find each other")
		}
	}
	return nil
}

func (all servers) agree() bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, s := range all {
		text, err := s.admin.ClusterInfo(ctx).Result()
		if err != nil || !strings.Contains(text, "cluster_state:ok") ||
			!strings.Contains(text, fmt.Sprintf("cluster_known_nodes:%d\r\n", len(all))) {
			return false
		}
	}
	return true
}
