package config

import (
	"strings"
	"testing"

	"github.com/stint-dev/stint"
)

func TestSizes(t *testing.T) {
	for s, want := range map[string]int64{
		"1MiB": 1 << 20, "512MiB": 512 << 20, "2GiB": 2 << 30, "500MB": 500e6, "1_024KiB": 1 << 20, "2000kB": 2e6, "3GB": 3e9,
		"1TB": 1e12, "4096TiB": stint.MaxUnits,
	} {
		f := parseGood(t, "store: { memory: { max_memory: "+s+" } }\nrules: []")
		if f.Store.MaxMemory != want {
			t.Errorf("%s is %d bytes, want %d", s, f.Store.MaxMemory, want)
		}
	}
	f, err := Parse("f", []byte("store: { memory: { max_memory: \"${SIZE}\" } }\nrules: []"), Options{Env: env(map[string]string{"SIZE": "2GiB"})})
	if err != nil || f.Store.MaxMemory != 2<<30 {
		t.Errorf("from the environment: %v, %v", f, err)
	}
	if f := parseGood(t, "rules: []"); f.Store.MaxMemory != 0 {
		t.Errorf("left out it is %d", f.Store.MaxMemory)
	}
}

func TestSizesSayWhatToWrite(t *testing.T) {
	for s, want := range map[string]string{
		"536870912":                  "has no unit: write 512MiB",
		"500_000_000":                "has no unit: write 500MB",
		"1073741824":                 "has no unit: write 1GiB",
		"0":                          "has no unit: " + sizeHint,
		"512":                        "has no unit: " + sizeHint,
		"512M":                       `"512M" is not a size: write 512MB`,
		"512Mi":                      `"512Mi" is not a size: write 512MiB`,
		"2 gb":                       `"2 gb" is not a size: write 2GB`,
		"1.5GiB":                     `"1.5GiB" is not a size: ` + sizeHint,
		"_MiB":                       `"_MiB" is not a size: ` + sizeHint,
		"-1MiB":                      `"-1MiB" is not a size: ` + sizeHint,
		"half":                       `"half" is not a size: ` + sizeHint,
		"true":                       "true is a boolean: " + sizeHint,
		"~":                          "is empty: " + sizeHint,
		"[1MiB]":                     "is a list: " + sizeHint,
		"1kB":                        `"1kB" is too little: write at least 1MiB`,
		"0GiB":                       `"0GiB" is nothing: ` + sizeHint,
		"99999999999999999999999MiB": "is too large: at most 4096TiB",
	} {
		_, err := Parse("f", []byte("store: { memory: { max_memory: "+s+" } }\nrules: []"), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "f:1:32: store.memory.max_memory") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant … %s", s, err, want)
		}
	}
	_, err := Parse("f", []byte("store: { memory: { max_memory: \"${SIZE}\" } }\nrules: []"), Options{Env: env(map[string]string{"SIZE": "hunter2"})})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("from the environment: %v", err)
	}
}
