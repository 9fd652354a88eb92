package config

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
)

// storeURLHint says how a URL of a store is written.
const storeURLHint = "write it like redis://user:password@host:6379/0"

// checkStoreURL looks for what would bring parts of a password to where they are
// shown, and for schemes of others. Its errors repeat nothing of s. The rest of the
// URL is the matter of the store.
func checkStoreURL(s string) error {
	scheme, rest, ok := strings.Cut(s, "://")
	switch {
	case !ok:
		return errors.New("is no URL: " + storeURLHint)
	case !isStoreScheme(scheme):
		return errors.New("has an unknown scheme: write redis, rediss, unix, redis+sentinel or redis+cluster before ://")
	case rest == "":
		return errors.New("has no host: write one such as redis://127.0.0.1:6379")
	case strings.ContainsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }):
		return errors.New("has a space or a control character: " + storeURLHint)
	}
	user, after := storeUser(rest)
	if strings.Contains(after, "@") && !isSocket(scheme) {
		return errors.New("has an @ behind the host: write what is special in a password percent-encoded, / as %2F, ? as %3F and @ as %40")
	}
	if name, password, _ := strings.Cut(user, ":"); name != "" && password == "" {
		return errors.New("has a user without a password: write a password alone like redis://:password@host:6379")
	}
	return nil
}

// isStoreScheme says whether s is a scheme of Redis or Valkey.
func isStoreScheme(s string) bool {
	switch base, kind, _ := strings.Cut(strings.ToLower(s), "+"); base {
	case "redis":
		return kind == "unix" || isPlacing(kind)
	case "rediss", "valkey", "valkeys":
		return isPlacing(kind)
	case "unix":
		return kind == ""
	}
	return false
}

// isPlacing says whether a kind of Redis is placed by hosts.
func isPlacing(kind string) bool { return kind == "" || kind == "sentinel" || kind == "cluster" }

// isSocket says whether a scheme is that of Unix sockets.
func isSocket(scheme string) bool { return strings.HasSuffix(strings.ToLower(scheme), "unix") }

// storeUser cuts what is before the @ of the host from what is behind ://.
func storeUser(rest string) (user, after string) {
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if i := strings.LastIndexByte(rest[:end], '@'); i >= 0 {
		return rest[:i], rest[i+1:]
	}
	return "", rest
}

// storePlace returns the scheme of a URL, and the hosts or the path of the socket.
// place is empty where it cannot be told from a password.
func storePlace(s string) (scheme, place string) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || checkStoreURL(s) != nil {
		return "redis", ""
	}
	scheme = strings.ToLower(scheme)
	_, after := storeUser(rest)
	after, _, _ = strings.Cut(after, "?")
	if !isSocket(scheme) {
		place, _, _ = strings.Cut(after, "/")
		return scheme, place
	}
	if !strings.HasPrefix(after, "/") || strings.Contains(after, "@") {
		return scheme, ""
	}
	return scheme, after
}

// showsSecrets says whether a message about the URL s may show a part of it that is
// secret.
func showsSecrets(message, s string) bool {
	_, rest, _ := strings.Cut(s, "://")
	user, after := storeUser(rest)
	if strings.Contains(strings.ToLower(after), "password") {
		return strings.Contains(message, `"`)
	}
	for part := range strings.SplitSeq(user, ":") {
		plain, err := url.PathUnescape(part)
		if len(part) > 2 && strings.Contains(message, part) || err == nil && len(plain) > 2 && strings.Contains(message, plain) {
			return true
		}
	}
	return false
}
