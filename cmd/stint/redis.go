package main

import (
	"github.com/stint-dev/stint/config"
	"github.com/stint-dev/stint/redisstore"
)

// openRedis returns the store that the settings name. It is not connected to yet.
func openRedis(kept *config.Redis) (*redisstore.Store, error) {
	options, err := redisstore.ParseURL(kept.URL)
	if err != nil {
		return nil, err
	}
	if kept.Prefix != "" {
		options.Prefix = kept.Prefix
	}
	return redisstore.New(options)
}
