package rules

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/stint-dev/stint"
)

// The names of built-in keys.
const (
	keyIP     = "ip"
	keyMethod = "method"
	keyPath   = "path"
	keyHost   = "host"
	keyGlobal = "global"
)

// key is a key, compiled.
type key struct {
	name   string
	kind   keyKind
	field  int    // in the table of fields, for fieldKey
	param  string // the name in a pattern, for paramKey
	secret bool
}

// hashes says whether a bucket's key holds a hash of the value.
func (k *key) hashes(value string) bool { return k.secret || len(value) > maxPlain }

type keyKind uint8

const (
	fieldKey  keyKind = iota // a value of the request
	addrKey                  // the client's address
	globalKey                // nothing
	paramKey                 // a {name} of the path
)

// fields is the table of what the rules read of a request: each once.
type fields struct {
	all []stint.Field
	at  map[stint.Field]int
}

// The fields that stand at the start of each table.
const (
	methodField = iota
	pathField
	hostField
)

func newFields() fields {
	f := fields{at: make(map[stint.Field]int)}
	for _, kind := range []stint.FieldKind{stint.FieldMethod, stint.FieldPath, stint.FieldHost} {
		f.index(stint.Field{Kind: kind})
	}
	return f
}

// index returns the place of f, which it adds if it is new.
func (t *fields) index(f stint.Field) int {
	if i, ok := t.at[f]; ok {
		return i
	}
	t.all, t.at[f] = append(t.all, f), len(t.all)
	return t.at[f]
}

// builtinKeys are the keys that every set has.
func builtinKeys() []key {
	return []key{
		{name: keyIP, kind: addrKey},
		{name: keyMethod, field: methodField},
		{name: keyPath, field: pathField},
		{name: keyHost, field: hostField},
		{name: keyGlobal, kind: globalKey},
	}
}

// keys checks the keys of the file and adds them to the set.
func (c *compiler) keys() {
	c.set.keys = builtinKeys()
	for i := range c.set.keys {
		c.keyAt[c.set.keys[i].name] = i
	}
	for i := range c.spec.Keys {
		k := &c.spec.Keys[i]
		path := "keys." + k.Name
		switch at := c.keyIndex(k.Name); {
		case k.Name == "":
			c.fault(indexed("keys", i), "a key has no name")
			continue
		case !isName(strings.ReplaceAll(k.Name, "-", "_")):
			c.fault(path, "%s is no name of a key: write letters, digits, _ and -, at most %d", quote(k.Name), maxID)
			continue
		case at >= 0 && at < len(builtinKeys()):
			c.fault(path, "%s is built in: give this key another name", k.Name)
			continue
		case at >= 0:
			c.fault(path, "key %s is there twice", k.Name)
			continue
		}
		compiled := key{name: k.Name, secret: k.Secret}
		c.keySource(path, k, &compiled)
		c.keyAt[k.Name] = len(c.set.keys)
		c.set.keys = append(c.set.keys, compiled)
	}
}

// keySource checks where a key is found.
func (c *compiler) keySource(path string, k *Key, into *key) {
	sources := 0
	from := func(name, value string, f stint.Field, check func(path, value string)) {
		if value == "" {
			return
		}
		sources++
		check(path+"."+name, value)
		into.field = c.set.fields.index(f)
	}
	from("header", k.Header, stint.Field{Kind: stint.FieldHeader, Name: textproto.CanonicalMIMEHeaderKey(k.Header)}, c.checkHeader)
	from("query", k.Query, stint.Field{Kind: stint.FieldQuery, Name: k.Query}, c.checkFree)
	from("cookie", k.Cookie, stint.Field{Kind: stint.FieldCookie, Name: k.Cookie}, c.checkCookie)
	from("json", k.JSON, stint.Field{Kind: stint.FieldJSON, Name: k.JSON}, c.checkJSON)
	from("descriptor", k.Descriptor, stint.Field{Kind: stint.FieldDescriptor, Name: k.Descriptor}, c.checkFree)
	if k.Param != "" {
		sources++
		into.kind, into.param = paramKey, k.Param
		if !isName(k.Param) {
			c.fault(path+".param", "%s is no name of a path parameter: write the id of {id}", quote(k.Param))
		}
	}
	switch {
	case sources == 0:
		c.fault(path, "key %s says not where it is found: give it a header, query, cookie, param, json or descriptor", k.Name)
	case sources > 1:
		c.fault(path, "key %s is found in %d places: write two keys", k.Name, sources)
	}
}

// keyIndex returns the place of the key called name, -1 if there is none.
func (c *compiler) keyIndex(name string) int {
	if at, ok := c.keyAt[name]; ok {
		return at
	}
	return -1
}

// keyNamed returns the place of the key called name, or faults.
func (c *compiler) keyNamed(path, name string) (int, bool) {
	at := c.keyIndex(name)
	if at < 0 {
		c.fault(path, "%s is no key: %s", quote(name), c.unknownKey(name))
	}
	return at, at >= 0
}

// unknownKey says what to write instead of a key that is none.
func (c *compiler) unknownKey(name string) string {
	var known []string
	if c.suggestions < maxSuggestions {
		for i := range c.set.keys {
			known = append(known, c.set.keys[i].name)
		}
	}
	hint := c.didYouMean(name, known)
	if _, near := nearest(name, known); !near {
		hint += ", or say under keys where " + quote(name) + " is found"
	}
	return hint
}

// checkHeader checks the name of a header.
func (c *compiler) checkHeader(path, name string) {
	switch {
	case !isToken(name):
		c.fault(path, "%s is no name of a header: letters, digits and hyphens, such as X-Api-Key", quote(name))
	case strings.EqualFold(name, "Host"):
		c.fault(path, "the host is no header here: use the built-in key host, or match.host")
	}
}

// checkCookie checks the name of a cookie.
func (c *compiler) checkCookie(path, name string) {
	if !isToken(name) {
		c.fault(path, "%s is no name of a cookie", quote(name))
	}
}

// checkFree checks a name that may have any characters.
func (c *compiler) checkFree(path, name string) {
	if name == "" || len(name) > maxNameOfField {
		c.fault(path, "a name of %d bytes: from 1 to %d", len(name), maxNameOfField)
	}
}

// checkJSON checks the path of a body's field.
func (c *compiler) checkJSON(path, name string) {
	if slices.Contains(strings.Split(name, "."), "") || len(name) > maxNameOfField {
		c.fault(path, "%s is no path of a field: write names with dots between them, such as user.phone", quote(name))
	}
}

// maxNameOfField is the longest name of a header, cookie or parameter, in bytes.
const maxNameOfField = 256

// isToken says whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= maxNameOfField
}
