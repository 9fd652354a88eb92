package rules

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stint-dev/stint/internal/cleanpath"
)

func TestPatterns(t *testing.T) {
	exact, strict, fold := spelling{}, spelling{strict: true}, spelling{fold: true}
	for _, c := range []struct {
		pattern, path string
		as            spelling
		want          bool
	}{
		{"/", "/", exact, true},
		{"/", "/a", exact, false},
		{"/v1/orders", "/v1/orders", exact, true},
		{"/v1/orders", "/v1/orders/", exact, true},
		{"/v1/orders/", "/v1/orders", exact, true},
		{"/v1/orders", "/v1/orders/", strict, false},
		{"/v1/orders/", "/v1/orders/", strict, true},
		{"/v1/orders", "/v1/ordersX", exact, false},
		{"/v1/orders", "/v1/Orders", exact, false},
		{"/v1/Orders", "/V1/oRDERS", fold, true},
		{"/v1/{Name}", "/V1/x", fold, true},
		{"/v1/orders/{id}", "/v1/orders/17", exact, true},
		{"/v1/orders/{id}", "/v1/orders/", exact, false},
		{"/v1/orders/{id}", "/v1/orders/", strict, false},
		{"/v1/orders/{id}", "/v1/orders/17/lines", exact, false},
		{"/v1/{kind}/17/{line}", "/v1/orders/17/2", exact, true},
		{"/v1/*", "/v1/orders", exact, true},
		{"/v1/*", "/v1", exact, false},
		{"/v1/*", "/v1/", exact, false},
		{"/v1/**", "/v1", exact, true},
		{"/v1/**", "/v1/", strict, true},
		{"/v1/**", "/v1/a/b/c", exact, true},
		{"/v1/**", "/v10", exact, false},
		{"/**", "/", exact, true},
		{"/**", "/a/b", exact, true},
		{"/**", "*", exact, true},
		{"/img-*.png", "/img-.png", exact, true},
		{"/img-*.png", "/img-a/b.png", exact, false},
		{"/*a*b*", "/xaxbx", exact, true},
		{"/*a*b*", "/ba", exact, false},
		{"/a*a", "/a", exact, false},
		{"/*.php/**", "/w/index.php", exact, false},
		{"/*.php/**", "/index.php/a", exact, true},
		// Spellings of one path.
		{"/api/login", "//api/./x/../login", exact, true},
		{"/api/login", "/api/%6Cogin", exact, true},
		{"/api/%6cogin", "/api/login", exact, true},
		{"/files/{name}", "/files/a%2Fb", exact, true},
		{"/files/a%2fb", "/files/a%2Fb", exact, true},
		{"/files/a/b", "/files/a%2Fb", exact, false},
		{"/files/{name}", "/files/..%2fetc", exact, true},
		{"/a/{x}", "/a/..", exact, false},
		{"/a/*", "/a/%2E%2E/b", exact, false},
		{"/b", "/a/%2E%2E/b", exact, true},
		{"/a:b", "/a%3Ab", exact, true},
		{"/a%3ab", "/a:b", exact, true},
		{"/caf\u00e9", "/caf%c3%a9", exact, true},
		{"/caf%C3%A9", "/caf\u00e9", fold, true},
		{"/a%2Ab", "/a*b", exact, true},
		{"/a%2Ab", "/axb", exact, false},
		{"/a*b", "/a%2Ab", exact, true},
		{"/%7Bid%7D", "/{id}", exact, true},
		{"/%7Bid%7D", "/x", exact, false},
		{"/a%25", "/a%2525", exact, false},
		{"/*:cancel", "/jobs%3Acancel", exact, true},
	} {
		p, err := parsePattern(c.pattern, c.as)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		var captured [maxCaptures]string
		if got := p.match(c.as.clean(c.path), &captured); got != c.want {
			t.Errorf("%s (%+v) with %s: %v, want %v", c.pattern, c.as, c.path, got, c.want)
		}
	}
}

func TestCaptures(t *testing.T) {
	p, err := parsePattern("/v1/{kind}/x-*/{id}/**", spelling{})
	if err != nil {
		t.Fatal(err)
	}
	var captured [maxCaptures]string
	if !p.match("/v1/orders/x-1/17/lines/2", &captured) || captured[0] != "orders" || captured[1] != "17" {
		t.Errorf("captured %q as %q", captured[:2], p.names)
	}
}

func TestBadPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"":                                    "does not start with a slash",
		"v1/orders":                           `write "/v1/orders"`,
		"*":                                   "does not start with a slash",
		"/v1?x=1":                             "match.query",
		"/v1/**/orders":                       "** can only be the last segment",
		"/v1/a**":                             "** can only be a whole segment",
		"/v1/{id}.json":                       "stands for a whole segment",
		"/v1/{}":                              "no name",
		"/v1/{a b}":                           "write %20",
		"/v1/{9}":                             "no name",
		"/v1/{id}/{id}":                       "there twice",
		"/100%":                               "write %25",
		"/a b":                                "write %20",
		"/a#b":                                "write %23",
		"/" + strings.Repeat("a", maxPattern): "at most 1024",
		"/{" + strings.Repeat("a", maxID+1) + "}": "no name",
		"/{a}" + manyNames():                      "more than 16",
	} {
		if _, err := parsePattern(pattern, spelling{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
	}
}

// manyNames is a path of more names than a pattern can have.
func manyNames() string {
	s := ""
	for i := range maxCaptures {
		s += "/{n" + string(rune('a'+i)) + "}"
	}
	return s
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		p, o          string
		covers, apart bool
	}{
		{"/**", "/a/{b}", true, false},
		{"/a/**", "/a", true, false},
		{"/a/**", "/a/**", true, false},
		{"/a/*", "/a/{id}", true, false},
		{"/a/{id}", "/a/b", true, false},
		{"/a/b", "/a/{id}", false, false},
		{"/a/b", "/a/c", false, true},
		{"/a/*", "/a/**", false, false},
		{"/a", "/a/**", false, false},
		{"/a", "/a/*", false, true},
		{"/a/*/c/**", "/a/b", false, true},
		{"/a-*", "/a-b", true, false},
		{"/a-*", "/b-c", false, true},
	} {
		p, o := mustPattern(t, c.p), mustPattern(t, c.o)
		if got := p.covers(&o); got != c.covers {
			t.Errorf("%s covers %s: %v", c.p, c.o, got)
		}
		if got := p.apart(&o); got != c.apart || o.apart(&p) != got {
			t.Errorf("%s apart from %s: %v and %v", c.p, c.o, got, o.apart(&p))
		}
	}
}

func mustPattern(t *testing.T, text string) pattern {
	t.Helper()
	p, err := parsePattern(text, spelling{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// asRegexp is another way to match a pattern.
func asRegexp(text string, as spelling) *regexp.Regexp {
	cleaned := as.trim(cleanpath.Clean(text))
	var b strings.Builder
	b.WriteString("(?s)^")
	if as.fold {
		b.WriteString("(?i)")
	}
	for piece := range strings.SplitSeq(strings.TrimPrefix(cleaned, "/"), "/") {
		switch {
		case cleaned == "/":
			b.WriteString("/")
		case piece == "**":
			b.WriteString("(/.*)?")
		case piece == "*" || strings.HasPrefix(piece, "{"):
			b.WriteString("/[^/]+")
		default:
			parts := strings.Split(piece, "*")
			for i := range parts {
				parts[i] = regexp.QuoteMeta(as.compared(parts[i]))
			}
			b.WriteString("/" + strings.Join(parts, "[^/]*"))
		}
	}
	return regexp.MustCompile(b.String() + "$")
}

func FuzzPattern(f *testing.F) {
	for _, s := range [][3]string{
		{"/v1/orders/{id}", "/v1/*/17", "/v1/orders/17"},
		{"/**", "/a/**", "//a/%2e%2e/b"},
		{"/img-*.png", "/*", "/img-1.png"},
		{"/a%2Fb/*", "/a%2fb/**", "/a%2fb/c/"},
		{"/a:b", "/a%3A*", "/a%3ab"},
		{"/%7B%2A%7D", "/*%2a*", "/{*}"},
		{"/\u00e9%", "/%%21", "/\xff%%21%"},
		{"/", "/{x}", "/A"},
		{"/a/", "/a", "/a/"},
	} {
		f.Add(s[0], s[1], s[2], false, false)
		f.Add(s[0], s[1], s[2], true, true)
	}
	f.Fuzz(func(t *testing.T, one, two, path string, fold, strict bool) {
		as := spelling{fold: fold, strict: strict}
		p, err := parsePattern(one, as)
		if err != nil {
			return
		}
		clean := as.clean(path)
		if again := as.clean(clean); again != clean {
			t.Errorf("%q cleaned is %q, and again %q", path, clean, again)
		}
		var captured [maxCaptures]string
		got := p.match(clean, &captured)
		if want := asRegexp(one, as).MatchString(clean); got != want {
			t.Errorf("%q with %q: %v, want %v", one, clean, got, want)
		}
		q, err := parsePattern(two, as)
		if err != nil {
			return
		}
		other := q.match(clean, &captured)
		if p.covers(&q) && other && !got {
			t.Errorf("%q covers %q but not %q", one, two, clean)
		}
		if p.apart(&q) && other && got {
			t.Errorf("%q is apart from %q and both fit %q", one, two, clean)
		}
	})
}
