package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/stint-dev/stint/internal/yamlfile"
)

// Fleet is how many servers share the limits while Redis fails. The zero Fleet
// leaves it to the heartbeat in Redis alone.
type Fleet struct {
	// Servers is how many there are. 0 means that they are counted.
	Servers int
	// AtLeast is the least that a count is taken for. 0 means 1.
	AtLeast int
	// DNS is a name that has an address for each server, as that of a headless service
	// has. Empty means that none is looked up.
	DNS string
}

// fleet is how many servers there are, as it is written: a number, or a mapping.
type fleet struct {
	n       *node
	servers whole
	fleetFields
}

// fleetFields are the fields of fleet.
type fleetFields struct {
	AtLeast whole `yaml:"at_least" range:"1 1000000" doc:"The least that the count of servers is taken for, also by a server that has never reached Redis. Left out, it is 1."`
	DNS     word  `yaml:"dns" doc:"A name whose addresses are counted besides, one for each server, as those of a headless service are: stint-headless."`
}

// fleetHint says what a fleet can be.
const fleetHint = "write how many servers there are, or a mapping such as { at_least: 3, dns: stint-headless }"

func (f *fleet) set(d *decoder, n *node, t tag) {
	if n.Kind != yamlfile.Mapping {
		if f.n = n; !isNumeric(n) {
			d.wrongKind(n, t.name, fleetHint)
			return
		}
		f.servers.set(d, n, t)
		d.counted(&f.servers, t.name, "leaves out this server", "and the servers count themselves")
		return
	}
	if !d.fields(n, &f.fleetFields, t) {
		return
	}
	if f.n = n; n.Find("at_least") == nil && n.Find("dns") == nil && !misspelt(n) {
		d.fault(n, t.name+" says nothing", fleetHint)
	}
	d.counted(&f.AtLeast, t.name+".at_least", "leaves out this server", "for 1")
	f.dns(d, t.name+".dns")
}

// maxHostName is the longest name that DNS has, in bytes.
const maxHostName = 253

// dns checks the name.
func (f *fleet) dns(d *decoder, name string) {
	const hint = "write a name that has an address for each server, such as stint-headless"
	n := f.DNS.n
	if n == nil {
		return
	}
	host := strings.TrimSuffix(n.Value, ".")
	before, port, hasPort := strings.Cut(host, ":")
	_, notAddress := netip.ParseAddr(host)
	switch {
	case host == "":
		d.fault(n, name+" is empty", hint)
	case notAddress == nil:
		d.fault(n, name+n.Shown()+" is an address, which is one server", hint)
	case hasPort && isDigits(port) && isHostName(before):
		d.fault(n, name+n.Shown()+" has a port", "write "+orShown(n, before, "the name alone"))
	case len(host) > maxHostName:
		d.fault(n, name+n.Shown()+" is too long", fmt.Sprintf("at most %d bytes", maxHostName))
	case !isHostName(host):
		d.fault(n, name+n.Shown()+" is no name of a host", hint)
	default:
		return
	}
	f.DNS = word{}
}

// isHostName says whether s is made of labels of letters, digits, - and _, none of
// which begins or ends with - (RFC 1123, section 2.1).
func isHostName(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "-") != label || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// settings returns the fleet that was written.
func (f *fleet) settings() Fleet {
	return Fleet{Servers: int(f.servers.v), AtLeast: int(f.AtLeast.v), DNS: f.DNS.v}
}

// alone warns of a shared store of which a server that has never reached it cannot
// tell how many share it.
func (b *builder) alone(s *store) {
	if s.url == nil || s.Redis.Fleet.n != nil {
		return
	}
	b.warn(firstOf(s.Redis.n, s.n), "a server that starts while the store does not answer believes that it is alone, and admits the whole limit by itself",
		"write in store.redis how many servers there are: fleet: 3, or fleet: { at_least: 3, dns: stint-headless }")
}
