package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Names of servers.
const (
	bareRLS    = "bare grpc-go"
	inMemory   = "stint, memory"
	onRedis    = "stint, Redis"
	envoys     = "envoyproxy/ratelimit, Redis"
	redisAlone = "redis-server"
)

// Limits of everyone. The first ones refuse nobody, the last is used up at once.
const descriptors = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 1000000000}
    descriptors:
      - key: path
        rate_limit: {unit: hour, requests_per_unit: 1000000000}
  - key: remote_address
    rate_limit: {unit: hour, requests_per_unit: 1000000000}
  - key: hot
    rate_limit: {unit: day, requests_per_unit: 10}
`

// settings of Stint: where to listen, where to count. A decision waits for Redis as
// long as it takes, or a busy machine would have it count in memory.
const settings = `listen: { http: "%s", grpc: "%s", resp: "%s", admin: "" }
store: %s
hash_key: only for this benchmark
envoy: { descriptors: limits }
keys:
  user: { header: X-User }
rules:
  - { id: per-user, match: { has: user }, key: user, limit: 1000000000 per hour }
`

// stint is a running command.
type stint struct {
	target
	http, grpc, resp string
}

// startStint runs the stint command, with counts in memory or in Redis.
func (b *bench) startStint(name, redis string) (stint, error) {
	var s stint
	for _, addr := range []*string{&s.http, &s.grpc, &s.resp} {
		var err error
		if *addr, err = freeAddr(); err != nil {
			return s, err
		}
	}
	if _, err := os.Stat(b.command); err != nil {
		return s, fmt.Errorf("there is no %s: make build makes it", b.command)
	}
	folder, store, limits := filepath.Join(b.folder, strings.ReplaceAll(name, " ", "")), "memory", descriptors
	if redis != "" {
		store = fmt.Sprintf("{ redis: { url: \"redis://%s\", deadline: 5s, fleet: 1 } }", redis)
		limits = strings.ReplaceAll(limits, "{unit:", "{on_store_failure: deny, unit:") // to be seen
	}
	file := filepath.Join(folder, "stint.yaml")
	if err := writeFiles(map[string]string{
		filepath.Join(folder, "limits", "shop.yaml"): limits,
		file: fmt.Sprintf(settings, s.http, s.grpc, s.resp, store),
	}); err != nil {
		return s, err
	}
	var err error
	s.target, err = b.start(name, s.grpc, exec.Command(b.command, "serve", "-c", file))
	return s, err
}

// startRatelimit runs envoyproxy/ratelimit with the same limits. It has its local
// cache on, no metrics to send, and its defaults otherwise.
func (b *bench) startRatelimit(redis string) (target, error) {
	if _, err := os.Stat(b.ratelimit); err != nil {
		return target{}, errAbsent
	}
	if err := writeFiles(map[string]string{filepath.Join(b.folder, "ratelimit", "config", "shop.yaml"): descriptors}); err != nil {
		return target{}, err
	}
	var ports [3]string
	for i := range ports {
		addr, err := freeAddr()
		if err != nil {
			return target{}, err
		}
		_, ports[i], _ = net.SplitHostPort(addr)
	}
	cmd := exec.Command(b.ratelimit)
	cmd.Env = []string{
		"HOST=127.0.0.1", "PORT=" + ports[0], "DEBUG_HOST=127.0.0.1", "DEBUG_PORT=" + ports[1],
		"GRPC_HOST=127.0.0.1", "GRPC_PORT=" + ports[2], "LOG_LEVEL=ERROR", "USE_STATSD=false", "DISABLE_STATS=true",
		"RUNTIME_ROOT=" + b.folder, "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_WATCH_ROOT=false", "RUNTIME_IGNOREDOTFILES=true",
		"REDIS_SOCKET_TYPE=tcp", "REDIS_TYPE=SINGLE", "REDIS_URL=" + redis, "LOCAL_CACHE_SIZE_IN_BYTES=1048576",
	}
	return b.start(envoys, "127.0.0.1:"+ports[2], cmd)
}

// startRedis runs a server that keeps nothing on disk. It is started once.
func (b *bench) startRedis() (target, error) {
	if t, ok := b.find(redisAlone); ok {
		return t, nil
	}
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return target{}, fmt.Errorf("there is no redis-server here: install it, for example by apt-get install redis-server")
	}
	addr, err := freeAddr()
	if err != nil {
		return target{}, err
	}
	_, port, _ := net.SplitHostPort(addr)
	return b.start(redisAlone, addr, exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--dir", b.folder,
		"--save", "", "--appendonly", "no", "--daemonize", "no"))
}

// startSelf runs this program as a bare server.
func (b *bench) startSelf(name string, args ...string) (target, error) {
	self, err := os.Executable()
	if err != nil {
		return target{}, err
	}
	return b.start(name, "", exec.Command(self, args...))
}

// writeFiles writes files, with the folders they are in.
func writeFiles(files map[string]string) error {
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
