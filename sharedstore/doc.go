// Package sharedstore opens the store of servers that share their limits: Redis or
// Valkey, with everything that belongs before it.
//
// A decision waits for Redis no longer than a deadline. While Redis fails, each policy
// decides as its OnStoreFailure says, by default with this server's share of the limit,
// which is counted in memory (package failover); the servers count themselves for that.
// Refusals that are known are repeated without asking (package shield). Who wants
// another arrangement puts redisstore, failover and shield together by hand.
package sharedstore
