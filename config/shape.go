package config

import "github.com/stint-dev/stint/internal/yamlfile"

// shape is the file as it is written. The schema is made of the same structs.
type shape struct {
	Listen         listen            `yaml:"listen" doc:"Where to listen. An empty address switches a listener off."`
	Upstream       word              `yaml:"upstream" doc:"The server behind the gateway, such as http://127.0.0.1:3000, or demo for a built-in echo service."`
	Store          store             `yaml:"store" doc:"Where the counts are kept: memory, the URL of a Redis or Valkey, or a mapping with options."`
	Envoy          envoy             `yaml:"envoy" doc:"Limits for Envoy, besides the rules."`
	TrustedProxies words             `yaml:"trusted_proxies" doc:"Networks whose word about a client's address is believed: 10.0.0.0/8, an address, private or unix."`
	ClientIP       clientIP          `yaml:"client_ip" doc:"How addresses of clients are read and told apart."`
	Keys           names[key, *key]  `yaml:"keys" doc:"Names for what tells one client from another. ip, method, path, host and global are built in."`
	Plans          plans             `yaml:"plans" secret:"fields" doc:"Which key is on which plan."`
	Headers        words             `yaml:"headers" enum:"x-ratelimit ietf github none" doc:"Headers that tell clients about their limit. Left out, they are x-ratelimit and ietf."`
	DenyStatus     whole             `yaml:"deny_status" range:"400 599" doc:"Status of a refusal, 400 to 599. Left out, it is 429."`
	HashKey        word              `yaml:"hash_key" secret:"value" doc:"Key of the hash that stands for secret keys. All servers that share counts need the same."`
	Paths          paths             `yaml:"paths" doc:"How paths are compared with patterns."`
	Rules          many[rule, *rule] `yaml:"rules" hint:"write a list of rules, or rules: [] to let everything through" doc:"The rules, in the order in which they are evaluated."`
}

// listen is where to listen.
type listen struct {
	n *node
	listenFields
}

// listenFields are the listeners.
type listenFields struct {
	Gateway word `yaml:"gateway" doc:"The reverse proxy. Left out, it is :8080 where there is an upstream."`
	HTTP    word `yaml:"http" doc:"The decision service over HTTP, with forward auth for other proxies. Left out, it is off."`
	GRPC    word `yaml:"grpc" doc:"The decision service over gRPC, with that of Envoy. Left out, it is off."`
	RESP    word `yaml:"resp" doc:"The decision service over the protocol of Redis: CL.THROTTLE. Left out, it is off."`
	Admin   word `yaml:"admin" doc:"Health, metrics and status. Left out, it is 127.0.0.1:9090."`
}

func (l *listen) set(d *decoder, n *node, t tag) {
	if n.IsScalar() {
		d.wrongKind(n, t.name, `write a mapping such as { gateway: ":8080" }`)
		return
	}
	if d.fields(n, &l.listenFields, t) {
		l.n = n
	}
}

// envoy is what Envoy asks for.
type envoy struct {
	n *node
	envoyFields
}

// envoyFields are the fields of envoy.
type envoyFields struct {
	Descriptors    word   `yaml:"descriptors" doc:"A file, or a folder of files, that says which limit each descriptor has, in the format of Envoy's own rate limit service. Its place is relative to this file."`
	MergeDomains   toggle `yaml:"merge_domains" doc:"Several files may add to one domain."`
	Algorithm      word   `yaml:"algorithm" enum:"token_bucket gcra leaky_bucket fixed_window sliding_window_counter sliding_window_log" doc:"How limits count that do not say it. Left out, it is fixed_window, as in Envoy's service."`
	OnStoreFailure word   `yaml:"on_store_failure" enum:"local allow deny" doc:"What limits do that do not say it while a shared store does not answer. Left out, it is local."`
	Headers        words  `yaml:"headers" enum:"ratelimit x-ratelimit ietf none" doc:"Headers that Envoy adds to responses. Left out, there are none; Retry-After is on every refusal."`
	Body           toggle `yaml:"body" doc:"Refusals have a JSON body about the limit. Not for routes of gRPC."`
	ShadowHeader   toggle `yaml:"shadow_header" doc:"The upstream is told in X-Stint-Shadow which rules in shadow mode would have refused."`
	Metadata       toggle `yaml:"dynamic_metadata" doc:"Answers have dynamic metadata: what was asked, and the metadata of the rules."`
	Mode           word   `yaml:"mode" enum:"enforce shadow" doc:"shadow decides and counts by all descriptors, and refuses nothing."`
}

func (e *envoy) set(d *decoder, n *node, t tag) {
	if n.IsScalar() {
		d.wrongKind(n, t.name, "write a mapping such as { descriptors: limits.yaml }")
		return
	}
	if d.fields(n, &e.envoyFields, t) {
		e.n = n
	}
}

// clientIP is how clients' addresses are read.
type clientIP struct {
	n *node
	clientIPFields
}

// clientIPFields are the fields of client_ip.
type clientIPFields struct {
	IPv4Prefix whole `yaml:"ipv4_prefix" range:"1 32" doc:"Leading bits by which IPv4 clients are told apart, 1 to 32. Left out, it is 32."`
	IPv6Prefix whole `yaml:"ipv6_prefix" range:"1 128" doc:"Leading bits by which IPv6 clients are told apart, 1 to 128. Left out, it is 64."`
	Header     word  `yaml:"header" doc:"The header in which trusted proxies name the client. Left out, it is X-Forwarded-For."`
}

func (c *clientIP) set(d *decoder, n *node, t tag) {
	if d.fields(n, &c.clientIPFields, t) {
		c.n = n
	}
}

// key is where one named key is found.
type key struct {
	n *node
	keyFields
}

// keyFields are the fields of a key.
type keyFields struct {
	Header     word   `yaml:"header" doc:"Name of a header."`
	Query      word   `yaml:"query" doc:"Name of a query parameter."`
	Cookie     word   `yaml:"cookie" doc:"Name of a cookie."`
	Param      word   `yaml:"param" doc:"Name of a {part} in the path pattern of the rule that matches."`
	JSON       word   `yaml:"json" doc:"Field of a JSON body, as a path such as user.phone."`
	Descriptor word   `yaml:"descriptor" doc:"Key of an entry of the descriptors that Envoy sends."`
	Secret     toggle `yaml:"secret" doc:"The value is hashed before it reaches a store, a log or a page."`
	JWT        later  `yaml:"jwt" hint:"use a header, and let what checks the token set it"`
	JWKS       later  `yaml:"jwks"`
}

func (k *key) set(d *decoder, n *node, t tag) {
	if n.Kind == yamlfile.Text {
		d.wrongKind(n, t.name, "write a mapping such as { header: X-Api-Key }")
		return
	}
	if d.fields(n, &k.keyFields, t) {
		k.n = n
	}
}

// plans is which key is on which plan.
type plans struct {
	n *node
	plansFields
}

// plansFields are the fields of plans.
type plansFields struct {
	Key   word               `yaml:"key" doc:"Name of the key whose values have plans."`
	Of    names[word, *word] `yaml:"of" secret:"names" doc:"Values of the key, each with the name of its plan."`
	File  word               `yaml:"file" doc:"A CSV file with lines of key,plan; its place is relative to this file."`
	Redis later              `yaml:"redis" hint:"write of or file"`
}

func (p *plans) set(d *decoder, n *node, t tag) {
	if d.fields(n, &p.plansFields, t) {
		p.n = n
	}
}

// paths is how paths are compared.
type paths struct {
	n *node
	pathsFields
}

// pathsFields are the fields of paths.
type pathsFields struct {
	IgnoreCase  toggle `yaml:"ignore_case" doc:"Compare without regard to case."`
	StrictSlash toggle `yaml:"strict_slash" doc:"A path with a slash at its end is another path than without."`
}

func (p *paths) set(d *decoder, n *node, t tag) {
	if d.fields(n, &p.pathsFields, t) {
		p.n = n
	}
}
