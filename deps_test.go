package stint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/stint-dev/stint"

// room is what a folder may import: other rooms, and modules from outside.
type room struct {
	rooms   []string
	modules []string
}

// rooms are the arrows of ARCHITECTURE.md. A room that is missing here fails the
// test: it needs a sentence there and a line here. Everybody may import the root
// and the standard library.
var rooms = map[string]room{
	"":                     {},
	"algo":                 {},
	"memstore":             {},
	"storetest":            {rooms: []string{"algo"}},
	"internal/clientip":    {},
	"internal/cleanpath":   {},
	"internal/accesslog":   {},
	"internal/yamlfile":    {modules: []string{"github.com/goccy/go-yaml"}},
	"redisstore":           {rooms: []string{"algo"}, modules: []string{"github.com/redis/rueidis"}},
	"redisstore/redistest": {},
	"failover":             {rooms: []string{"algo", "internal/breaker"}},
	"internal/breaker":     {},
	"shield":               {},
	"sharedstore":          {rooms: []string{"memstore", "redisstore", "failover", "shield"}},
	"internal/wire":        {},
	"internal/once":        {},
	"internal/ratefields":  {},
	"server":               {rooms: []string{"httplimit", "internal/wire", "internal/clientip"}, modules: []string{"google.golang.org/grpc", "google.golang.org/protobuf"}},
	"client":               {rooms: []string{"internal/breaker", "internal/wire"}},
	"client/overgrpc":      {rooms: []string{"client"}, modules: []string{"google.golang.org/grpc", "google.golang.org/protobuf"}},
	"rules":                {rooms: []string{"algo", "internal/cleanpath"}},
	"httplimit":            {rooms: []string{"internal/clientip", "internal/once", "internal/ratefields"}, modules: []string{"github.com/tidwall/gjson"}},
	"grpclimit":            {rooms: []string{"internal/clientip", "internal/once", "internal/ratefields"}, modules: []string{"google.golang.org/grpc", "google.golang.org/genproto/googleapis/rpc/errdetails", "google.golang.org/protobuf"}},
	"resp":                 {rooms: []string{"algo", "internal/ratefields"}},
	"retry":                {},
	"gateway":              {rooms: []string{"httplimit", "internal/clientip", "internal/cleanpath"}},
	"admin":                {modules: []string{"github.com/prometheus/client_golang"}},
	"replay":               {rooms: []string{"memstore", "rules", "internal/accesslog", "internal/clientip"}},
	"config":               {rooms: []string{"algo", "rules", "descriptors", "internal/clientip", "internal/yamlfile"}, modules: []string{"github.com/goccy/go-yaml", "github.com/fsnotify/fsnotify"}},
	"descriptors":          {rooms: []string{"algo", "internal/yamlfile"}, modules: []string{"github.com/goccy/go-yaml"}},
	"rls":                  {rooms: []string{"descriptors", "internal/ratefields"}, modules: []string{"google.golang.org/grpc", "google.golang.org/protobuf", "github.com/envoyproxy/go-control-plane/envoy"}},
	"cmd/stint":            {rooms: []string{"*"}, modules: []string{"*"}},
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		may, ok := rooms[name]
		if !ok {
			t.Errorf("package %s is no room: give it a sentence in ARCHITECTURE.md and a line in deps_test.go", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			if why := forbidden(may, path); why != "" {
				t.Errorf("%s imports %s: %s", name, path, why)
			}
		}
	}
}

// forbidden says why a room may not import path, or nothing.
func forbidden(may room, path string) string {
	switch {
	case path == module, standard(path):
		return ""
	case strings.HasPrefix(path, module+"/"):
		if !allows(may.rooms, strings.TrimPrefix(path, module+"/")) {
			return "the arrows do not go there"
		}
	case !allows(may.modules, path):
		return "a dependency that this room has not got"
	}
	return ""
}

func allows(list []string, path string) bool {
	return slices.ContainsFunc(list, func(m string) bool {
		return m == "*" || path == m || strings.HasPrefix(path, m+"/")
	})
}

// standard says whether path is of the standard library: its first part has no
// dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// TestLibraryNeedsOnlyTheStandardLibrary is for who embeds the limiter.
func TestLibraryNeedsOnlyTheStandardLibrary(t *testing.T) {
	for _, p := range list(t, ".", "./algo", "./memstore") {
		for _, dep := range p.Deps {
			if dep != module && !strings.HasPrefix(dep, module+"/") && !standard(dep) {
				t.Errorf("%s needs %s", p.ImportPath, dep)
			}
		}
	}
}

func list(t *testing.T, patterns ...string) []goPackage {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps,Standard"}, patterns...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
