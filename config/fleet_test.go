package config

import "testing"

func TestFleetOfAFile(t *testing.T) {
	for written, want := range map[string]Fleet{
		"${N:-3}":                           {Servers: 3},
		"3":                                 {Servers: 3},
		"{ at_least: 3 }":                   {AtLeast: 3},
		"{ dns: stint-headless }":           {DNS: "stint-headless"},
		"{ dns: stint.default.svc.local. }": {DNS: "stint.default.svc.local."},
		"{ at_least: 4, dns: _a }":          {AtLeast: 4, DNS: "_a"},
	} {
		f := parseGood(t, "store:\n  redis:\n    url: redis://a\n    fleet: "+written+"\nrules: []")
		if f.Store.Redis.Fleet != want || len(f.Warnings) > 0 {
			t.Errorf("%s: %+v, %v", written, f.Store.Redis.Fleet, f.Warnings)
		}
	}
}

func TestAFleetSaysWhatToWrite(t *testing.T) {
	const (
		fleetIs = "write how many servers there are, or a mapping such as { at_least: 3, dns: stint-headless }"
		nameIs  = "write a name that has an address for each server, such as stint-headless"
	)
	for written, want := range map[string]string{
		"0":                           "1:42: store.redis.fleet 0 leaves out this server: write at least 1, or leave it out and the servers count themselves",
		"-1":                          "1:42: store.redis.fleet -1 is negative: write 1 or more",
		"1.5":                         "1:42: store.redis.fleet 1.5 is not a whole number: write digits only, such as 100 or 1_000",
		"three":                       `1:42: store.redis.fleet "three" is text: ` + fleetIs,
		"[3]":                         "1:42: store.redis.fleet is a list: " + fleetIs,
		"":                            "1:35: store.redis.fleet is empty: " + fleetIs,
		"{}":                          "1:42: store.redis.fleet says nothing: " + fleetIs,
		"{ size: 3 }":                 `1:44: unknown field "size" in store.redis.fleet: write at_least or dns`,
		"{ at_least: 0 }":             "1:54: store.redis.fleet.at_least 0 leaves out this server: write at least 1, or leave it out for 1",
		"{ at_least: -2 }":            "1:54: store.redis.fleet.at_least -2 is negative: write 1 or more",
		"{ at_least: some }":          `1:54: store.redis.fleet.at_least "some" is text: write a whole number without quotes`,
		"{ at_least: 1_000_001 }":     "1:54: store.redis.fleet.at_least 1_000_001 is too large: at most 1000000",
		"{ dns: '' }":                 `1:49: store.redis.fleet.dns is empty: ` + nameIs,
		"{ dns: }":                    "1:44: store.redis.fleet.dns is empty: write text",
		"{ dns: 3 }":                  "1:49: store.redis.fleet.dns 3 is a number: write it in quotes",
		"{ dns: 'stint:8080' }":       `1:49: store.redis.fleet.dns "stint:8080" has a port: write stint`,
		"{ dns: 10.0.0.1 }":           `1:49: store.redis.fleet.dns "10.0.0.1" is an address, which is one server: ` + nameIs,
		"{ dns: '::1' }":              `1:49: store.redis.fleet.dns "::1" is an address, which is one server: ` + nameIs,
		"{ dns: 'http://stint' }":     `1:49: store.redis.fleet.dns "http://stint" is no name of a host: ` + nameIs,
		"{ dns: a..b }":               `1:49: store.redis.fleet.dns "a..b" is no name of a host: ` + nameIs,
		"{ dns: -a.local }":           `1:49: store.redis.fleet.dns "-a.local" is no name of a host: ` + nameIs,
		"{ dns: a-.local }":           `1:49: store.redis.fleet.dns "a-.local" is no name of a host: ` + nameIs,
		"{ dns: stint, at_least: 0 }": "1:66: store.redis.fleet.at_least 0 leaves out this server: write at least 1, or leave it out for 1",
	} {
		_, err := Parse("f", []byte("store: { redis: { url: redis://a, fleet: "+written+" } }\nrules: []"), Options{})
		if err == nil || err.Error() != "f:"+want {
			t.Errorf("%s\n got %v\nwant f:%s", written, err, want)
		}
	}
}

// TestASharedStoreWithoutAFleet is warned of, and its password is not shown.
func TestASharedStoreWithoutAFleet(t *testing.T) {
	const want = "a server that starts while the store does not answer believes that it is alone, and admits the whole limit by itself: " +
		"write in store.redis how many servers there are: fleet: 3, or fleet: { at_least: 3, dns: stint-headless }"
	for store, place := range map[string]string{
		"{ redis: { url: 'redis://:hunter2@a' } }":                   "rules.yaml:1:17: ",
		"redis://:hunter2@a":                                         "rules.yaml:1:8: ",
		"{ redis: { url: 'redis://:hunter2@a', fleet: 1 } }":         "",
		"{ redis: { url: redis://a, fleet: { at_least: 1 } } }":      "",
		"{ redis: { url: redis://a, fleet: { dns: stint.local } } }": "",
		"memory": "",
	} {
		f := parseGood(t, "store: "+store+"\nrules: []")
		switch {
		case place == "" && len(f.Warnings) > 0, place != "" && (len(f.Warnings) != 1 || f.Warnings[0].Error() != place+want || f.Warnings[0].Text != ""):
			t.Errorf("%s: %v", store, f.Warnings)
		}
	}
}
