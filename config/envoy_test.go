package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stint-dev/stint"
)

const (
	loginLimits  = "domain: login\ndescriptors:\n  - { key: user, rate_limit: { unit: minute, requests_per_unit: 3 } }\n"
	searchLimits = "domain: search\ndescriptors:\n  - { key: user, rate_limit: { unit: minute, requests_per_unit: 9 } }\n"
)

// write writes a file of a folder.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// envoyFolder is a folder with a rules file and another one with descriptors.
func envoyFolder(t *testing.T) (file, limits string) {
	t.Helper()
	dir := t.TempDir()
	limits = filepath.Join(dir, "limits")
	if err := os.Mkdir(limits, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, limits, "login.yaml", loginLimits)
	return write(t, dir, "stint.yaml", "envoy: { descriptors: limits, headers: [ratelimit], on_store_failure: deny, algorithm: gcra }\n"), limits
}

// TestDescriptorsBesideTheFile: the path is relative to the file, which needs no
// rules then.
func TestDescriptorsBesideTheFile(t *testing.T) {
	path, _ := envoyFolder(t)
	f, err := Load(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := f.Envoy
	if !slices.Equal(e.Set.Domains(), []string{"login"}) || !slices.Equal(e.Headers, []string{"ratelimit"}) || e.Body || e.Shadow {
		t.Errorf("%+v", e)
	}
	rule := e.Set.Rules()[0]
	if rule.Policy.OnStoreFailure != stint.FailDeny || rule.Policy.Algorithm.Name() != "token_bucket" {
		t.Errorf("%+v", rule.Policy)
	}
}

// TestFaultsOfDescriptors are told with those of the rules file.
func TestFaultsOfDescriptors(t *testing.T) {
	path, limits := envoyFolder(t)
	bad := write(t, limits, "bad.yaml", "domain: bad\ndescriptors:\n  - { key: user, rate_limit: { unit: fortnight, requests_per_unit: 3 } }\n")
	write(t, filepath.Dir(path), "stint.yaml", "deny_status: 200\nenvoy: { descriptors: limits }\n")
	_, err := Load(path, Options{})
	var all Errors
	if !errors.As(err, &all) || len(all) != 2 || all[0].File != path || all[0].Line != 1 || all[1].File != bad || all[1].Line != 3 {
		t.Errorf("%v", err)
	}
	_, err = Parse(path, []byte("envoy: { descriptors: nowhere }"), Options{})
	if !errors.As(err, &all) || len(all) != 1 || all[0].File != filepath.Join(filepath.Dir(path), "nowhere") {
		t.Errorf("%v", err)
	}
}

// TestDescriptorsAreWatched: a change of a file, a new file and one that is gone are
// read; a bad one changes nothing.
func TestDescriptorsAreWatched(t *testing.T) {
	for _, poll := range []bool{false, true} {
		path, limits := envoyFolder(t)
		w := watch(t, path, WatchOptions{Poll: poll, Interval: 20 * time.Millisecond})
		wantDomains := func(names ...string) {
			t.Helper()
			for {
				select {
				case f := <-w.loaded:
					if slices.Equal(f.Envoy.Set.Domains(), names) {
						return
					}
				case err := <-w.failed:
					t.Log(err)
				case <-time.After(20 * time.Second):
					t.Fatalf("no set with %q came", names)
				}
			}
		}
		search := write(t, limits, "search.yaml", searchLimits)
		wantDomains("login", "search")
		write(t, limits, "search.yaml", "domain: search\ndescriptors: 7\n")
		w.wantFailure("search.yaml:2")
		if got := w.Last().Envoy.Set.Domains(); !slices.Equal(got, []string{"login", "search"}) {
			t.Errorf("after a bad file there is %q", got)
		}
		if err := os.Remove(search); err != nil {
			t.Fatal(err)
		}
		wantDomains("login")
	}
}
