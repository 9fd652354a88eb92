package accesslog

// field is a place for something a JSON line may say. Fields of one meaning stand together,
// the one to believe first.
type field byte

const (
	unknownField field = iota

	startUTC // Traefik; the time a request began comes before the one it was written down.
	startLocal
	startTime // Envoy.
	ts        // Caddy.
	msec      // nginx: the finer one first.
	timeISO
	atTimestamp
	timestamp
	timeLocal
	timeField
	lastTime = timeField

	directAddr field = iota // Envoy's and nginx' peer, where the next are already the client.
	downstreamAddr
	clientAddr // Traefik's peer with its port.
	remoteAddr
	remoteIP // Caddy's peer, where client_ip is already the client.
	clientIP
	clientHost    // Traefik's first X-Forwarded-For, or else its peer.
	lastAddrField = clientHost

	methodField field = iota
	requestURI
	pathField
	uriField
	requestLine
	argsField
	protoField
	statusField
	userField

	requestHost field = iota // Traefik, without the port.
	hostHeader
	hostField
	serverName
	lastHost = serverName

	fields field = iota
)

// fieldOf returns the field of a key at the top of a JSON line.
func fieldOf(key string) field {
	switch key {
	case "StartUTC":
		return startUTC
	case "StartLocal":
		return startLocal
	case "start_time":
		return startTime
	case "ts":
		return ts
	case "msec":
		return msec
	case "time_iso8601", "timestamp_iso8601":
		return timeISO
	case "@timestamp":
		return atTimestamp
	case "timestamp":
		return timestamp
	case "time_local":
		return timeLocal
	case "time":
		return timeField
	case "downstream_direct_remote_address", "downstream_direct_remote_address_without_port", "realip_remote_addr":
		return directAddr
	case "downstream_remote_address", "downstream_remote_address_without_port":
		return downstreamAddr
	case "ClientAddr":
		return clientAddr
	case "remote_addr", "remote_address":
		return remoteAddr
	case "remote_ip":
		return remoteIP
	case "client_ip", "client", "clientip":
		return clientIP
	case "ClientHost":
		return clientHost
	case "RequestMethod", "request_method", "method", "http_method", ":method":
		return methodField
	case "request_uri", "x_envoy_original_path", "x-envoy-original-path":
		return requestURI
	case "RequestPath", "path", "request_path", ":path":
		return pathField
	case "uri", "url":
		return uriField
	case "request":
		return requestLine
	case "args", "query_string":
		return argsField
	case "RequestProtocol", "server_protocol", "protocol", "request_protocol", "proto":
		return protoField
	case "DownstreamStatus", "status", "response_code", "status_code":
		return statusField
	case "ClientUsername", "remote_user", "user_id":
		return userField
	case "RequestHost":
		return requestHost
	case "http_host", "authority", ":authority", "RequestAddr":
		return hostHeader
	case "host":
		return hostField
	case "server_name", "vhost":
		return serverName
	}
	return unknownField
}

// headerOf returns the request header that a key at the top of a JSON line holds, if any.
func headerOf(key string) (h header, ok bool) {
	const http, request = "http_", "request_"
	switch key {
	case "referer", "referrer", "http_referrer":
		return header{name: "Referer"}, true
	case "user_agent", "user-agent", "agent", "useragent", "http_agent":
		return header{name: "User-Agent"}, true
	case "xff", "forwarded_for":
		return header{name: "X-Forwarded-For"}, true
	case "authorization", "cookie", "origin", "forwarded":
		return header{name: key}, true
	case "x_envoy_upstream_service_time", "x-envoy-upstream-service-time":
		return header{}, false
	}
	switch {
	case len(key) > len(http) && key[:len(http)] == http:
		return header{name: key[len(http):], snake: true}, true
	case len(key) > len(request) && key[:len(request)] == request && 'A' <= key[len(request)] && key[len(request)] <= 'Z':
		return header{name: key[len(request):]}, true
	case len(key) > 2 && (key[:2] == "x_" || key[:2] == "x-"):
		return header{name: key, snake: true}, true
	}
	return header{}, false
}
