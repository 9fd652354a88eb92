package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
	"github.com/stint-dev/stint/rules"
)

func TestC106EventsArriveBeforeTheEnd(t *testing.T) {
	end := make(chan struct{})
	for _, header := range []string{"Content-Type: text/event-stream", "Content-Type: text/plain"} {
		g := simple(t, func(w http.ResponseWriter, _ *http.Request) {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
			io.WriteString(w, "data: a\n\n")
			_ = http.NewResponseController(w).Flush()
			<-end
			io.WriteString(w, "data: b\n\n")
		})
		res, err := g.client.Do(newRequest(t, http.MethodGet, g.url+"/", nil))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		first := make([]byte, 9)
		if _, err := io.ReadFull(res.Body, first); err != nil { // Would wait for ever.
			t.Fatal(err)
		}
		end <- struct{}{}
		rest, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		wantString(t, header, string(first)+string(rest), "data: a\n\ndata: b\n\n")
	}
}

// The header alone arrives too, before the first byte of the body.
func TestC106HeaderOfAStreamArrivesAtOnce(t *testing.T) {
	end := make(chan struct{})
	g := simple(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-end
	})
	res, err := g.client.Do(newRequest(t, http.MethodGet, g.url+"/", nil))
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res, http.StatusOK)
	close(end)
	res.Body.Close()
}

// echoWebSocket answers an upgrade and sends back what it gets.
func echoWebSocket(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			fmt.Fprintf(w, "no upgrade, but %q", r.Header.Get("Upgrade"))
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-Websocket-Accept: %s\r\nX-Ratelimit-Limit: 7\r\n\r\n", r.Header.Get("Sec-Websocket-Key"))
		rw.Flush()
		_, _ = io.Copy(conn, rw)
	}
}

func TestC106WebSocketsPass(t *testing.T) {
	g := start(t, Options{
		Upstream: upstream(t, echoWebSocket(t)),
		Limit:    httplimit.Options{Decider: decide(t, limits(t, "2 per minute"))},
	}, Server{})
	for range 2 {
		w := g.dial()
		w.send("GET /chat HTTP/1.1\nHost: x\nConnection: keep-alive, Upgrade\nUpgrade: WebSocket\nSec-WebSocket-Key: abc\n\n")
		res := w.answer(http.MethodGet)
		wantStatus(t, res, http.StatusSwitchingProtocols)
		wantString(t, "accepted key", res.Header.Get("Sec-Websocket-Accept"), "abc")
		wantField(t, res.Header, "X-Ratelimit-Limit", "2")
		for _, message := range []string{"hello", "again"} {
			w.send(message)
			echo := make([]byte, len(message))
			if _, err := io.ReadFull(w.r, echo); err != nil {
				t.Fatal(err)
			}
			wantString(t, "echo", string(echo), message)
		}
		w.Close()
	}
	res, _ := g.raw(http.MethodGet, "/chat", "Upgrade: websocket")
	wantStatus(t, res, http.StatusTooManyRequests)
}

// An upgrade to h2c would be a tunnel for requests that nobody counts.
func TestOtherUpgradesDoNotPass(t *testing.T) {
	g := simple(t, echoWebSocket(t))
	for _, protocol := range []string{"h2c", "h2c, websocket", "TLS/1.0", ""} {
		w := g.dial()
		w.send("GET / HTTP/1.1\nHost: x\nConnection: Upgrade, HTTP2-Settings\nUpgrade: " + protocol + "\nHTTP2-Settings: AAMAAABkAAQAAP__\n\n")
		res := w.answer(http.MethodGet)
		wantStatus(t, res, http.StatusOK)
		body, _ := io.ReadAll(res.Body)
		wantString(t, protocol, string(body), `no upgrade, but ""`)
	}
}

func TestTrailersPass(t *testing.T) {
	g := simple(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-Announced")
		io.WriteString(w, string(body)+" "+r.Trailer.Get("X-Sum"))
		w.Header().Set("X-Announced", "1")
		w.Header().Set(http.TrailerPrefix+"X-Surprise", "2")
	})
	r := newRequest(t, http.MethodPost, g.url+"/", io.MultiReader(strings.NewReader("body")))
	r.Trailer = http.Header{"X-Sum": {"42"}}
	res, body := g.do(r)
	wantString(t, "the upstream got", body, "body 42")
	wantField(t, res.Trailer, "X-Announced", "1")
	wantField(t, res.Trailer, "X-Surprise", "2")
}

// The proxy of the standard library drops all header fields set before it when
// the upstream sends an early hint.
func TestInformationalAnswersKeepTheRateHeaders(t *testing.T) {
	h := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	})
	g := start(t, Options{Upstream: h, Limit: httplimit.Options{Decider: decide(t, limits(t, "5 per minute"))}}, Server{})
	var hints textproto.MIMEHeader
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
		if code == http.StatusEarlyHints {
			hints = header
		}
		return nil
	}}
	r := newRequest(t, http.MethodGet, g.url+"/", nil)
	res, _ := g.do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	wantField(t, http.Header(hints), "Link", "</style.css>; rel=preload")
	wantField(t, http.Header(hints), "X-Ratelimit-Limit")
	wantField(t, res.Header, "X-Ratelimit-Limit", "5")
	wantField(t, res.Header, "X-Ratelimit-Remaining", "4")
}

func TestRateHeadersAreThereOnce(t *testing.T) {
	h := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "9999")
		w.Header().Set("RateLimit", `"inner";r=1`)
		w.Header().Set("Access-Control-Expose-Headers", "X-Mine")
	})
	g := start(t, Options{Upstream: h, Limit: httplimit.Options{Decider: decide(t, limits(t, "5 per minute"))}}, Server{})
	res, _ := g.get("/", "Origin: https://shop.example")
	wantField(t, res.Header, "X-Ratelimit-Limit", "5")
	if got := res.Header["Ratelimit"]; len(got) != 1 || strings.Contains(got[0], "inner") {
		t.Errorf("RateLimit: %q", got)
	}
	if got := res.Header["Access-Control-Expose-Headers"]; len(got) != 2 || got[1] != "X-Mine" {
		t.Errorf("Access-Control-Expose-Headers: %q", got)
	}

	g = start(t, Options{Upstream: h, Limit: httplimit.Options{Decider: anything(t)}}, Server{})
	res, _ = g.get("/")
	wantField(t, res.Header, "X-Ratelimit-Limit", "9999")
}

func TestC110RefusalsAreNotStored(t *testing.T) {
	h := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Cache-Control", "public, max-age=300") })
	g := start(t, Options{Upstream: h, Limit: httplimit.Options{Decider: decide(t, limits(t, "1 per minute"))}}, Server{})
	res, _ := g.get("/")
	wantField(t, res.Header, "Cache-Control", "public, max-age=300")
	res, _ = g.get("/")
	wantStatus(t, res, http.StatusTooManyRequests)
	wantField(t, res.Header, "Cache-Control", "no-store")
}

func TestExpectContinue(t *testing.T) {
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
		Limit:    httplimit.Options{Decider: decide(t, limits(t, "1 per minute"))},
	}, Server{})
	w := g.dial()
	const head = "POST / HTTP/1.1\nHost: x\nContent-Length: 5\nExpect: 100-continue\n\n"
	w.send(head)
	line, err := w.r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	wantString(t, "first answer", strings.TrimSpace(line), "HTTP/1.1 100 Continue")
	if line, _ = w.r.ReadString('\n'); strings.TrimSpace(line) != "" {
		t.Errorf("header line %q in a 100 Continue", line)
	}
	w.send("hello")
	res := w.answer(http.MethodPost)
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	wantStatus(t, res, http.StatusOK)
	wantString(t, "body", string(body), "hello")

	w = g.dial()
	w.send(head)
	wantStatus(t, w.answer(http.MethodPost), http.StatusTooManyRequests)
}

func TestHead(t *testing.T) {
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1234") }),
		Limit:    httplimit.Options{Decider: decide(t, limits(t, "1 per minute"))},
	}, Server{})
	w := g.dial()
	w.send("HEAD / HTTP/1.1\nHost: x\n\n")
	res := w.answer(http.MethodHead)
	wantStatus(t, res, http.StatusOK)
	wantField(t, res.Header, "Content-Length", "1234")
	wantField(t, res.Header, "X-Ratelimit-Remaining", "0")
	w.send("HEAD / HTTP/1.1\nHost: x\n\nHEAD / HTTP/1.1\nHost: x\n\n")
	for range 2 { // A body would be taken for the second answer.
		wantStatus(t, w.answer(http.MethodHead), http.StatusTooManyRequests)
	}
}

// h2cClient speaks HTTP/2 without TLS.
func h2cClient(t testing.TB) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestH2CFromTheClient(t *testing.T) {
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-End")
			fmt.Fprint(w, r.Proto, " ", r.RequestURI, " ", r.Header.Get("X-Forwarded-Host"))
			w.Header().Set("X-End", "1")
		}),
		Limit: httplimit.Options{Decider: decide(t, limits(t, "1 per minute", "/a/b"))},
	}, Server{})
	client := h2cClient(t)
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		res, err := client.Do(newRequest(t, http.MethodGet, g.url+"//a/./b?x", nil))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		wantStatus(t, res, want)
		wantString(t, "protocol", res.Proto, "HTTP/2.0")
		if want == http.StatusOK {
			wantString(t, "the upstream got", string(body), "HTTP/1.1 /a/b?x "+g.addr)
			wantField(t, res.Trailer, "X-End", "1")
		}
	}
}

func TestH2CToTheUpstream(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		fmt.Fprint(w, r.Proto, " ", r.Header.Get("Te"))
		w.Header().Set("Grpc-Status", "0")
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	g := start(t, Options{
		Upstream: "h2c://" + s.Listener.Addr().String(), Limit: httplimit.Options{Decider: anything(t)},
	}, Server{})
	res, err := h2cClient(t).Do(newRequest(t, http.MethodPost, g.url+"/svc/Method", strings.NewReader("x"), "Te: trailers"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	wantString(t, "the upstream got", string(body), "HTTP/2.0 trailers")
	wantField(t, res.Trailer, "Grpc-Status", "0")
}

func TestHTTPSUpstreamSpeaksHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	transport := newTransport(false)
	transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	transport.TLSClientConfig.NextProtos = nil
	g := start(t, Options{
		Upstream: s.URL, UpstreamHost: true, Transport: transport, Limit: httplimit.Options{Decider: anything(t)},
	}, Server{})
	_, body := g.get("/")
	wantString(t, "protocol", body, "HTTP/2.0")
}

// watched tells what a decider decided.
type watched struct {
	stint.Decider
	allowed chan bool
}

func (w *watched) Decide(ctx context.Context, src stint.Source, d *stint.Decision) error {
	err := w.Decider.Decide(ctx, src, d)
	w.allowed <- d.Allowed
	return err
}

// A request that a leaky bucket delays, and whose client hangs up meanwhile, never
// reaches the upstream and gives its place back.
func TestC138ClientHangsUpWhileQueued(t *testing.T) {
	reached := make(chan string, 10)
	queue := &watched{allowed: make(chan bool, 1), Decider: decideReal(t, rules.Spec{Rules: []rules.Rule{{
		ID: "q", Key: []string{"ip"}, Algorithm: "leaky_bucket", Limits: []stint.Limit{parseLimit(t, "1 per 1h")},
		Queue: &rules.Queue{MaxWait: 90 * time.Minute, MaxWaiting: 1},
	}}})}
	g := start(t, Options{
		Upstream: upstream(t, func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }),
		Limit:    httplimit.Options{Decider: queue},
	}, Server{})
	ask := func() (*wire, bool) {
		w := g.dial()
		w.send("GET /queued HTTP/1.1\nHost: x\n\n")
		return w, <-queue.allowed
	}
	res, _ := g.get("/first")
	wantStatus(t, res, http.StatusOK)
	<-queue.allowed
	for range 3 { // Each finds the one place in the queue free again.
		var waiting *wire
		eventually(t, "the place being free", func() bool {
			w, allowed := ask()
			if waiting = w; !allowed {
				w.Close()
			}
			return allowed
		})
		refused, allowed := ask()
		if allowed {
			t.Fatal("two are waiting where one may")
		}
		wantStatus(t, refused.answer(http.MethodGet), http.StatusTooManyRequests)
		waiting.Close()
	}
	wantString(t, "reached", <-reached, "/first")
	if len(reached) > 0 {
		t.Errorf("%s reached the upstream", <-reached)
	}
}

func TestManyConnectionsAtOnce(t *testing.T) {
	g := start(t, Options{
		Upstream: upstream(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
		Limit:    httplimit.Options{Decider: decide(t, limits(t, "400 per minute"))},
	}, Server{})
	results := make(chan int, 1000)
	for range 200 {
		go func() {
			conn, err := net.Dial("tcp", g.addr)
			if err != nil {
				t.Error(err)
				results <- 0
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
			r := bufio.NewReader(conn)
			for range 5 {
				fmt.Fprint(conn, "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
				res, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Error(err)
					results <- 0
					continue
				}
				_, _ = io.Copy(io.Discard, res.Body)
				results <- res.StatusCode
			}
		}()
	}
	got := map[int]int{}
	for range 1000 {
		got[<-results]++
	}
	wantString(t, "answers", fmt.Sprint(got), "map[200:400 429:600]")
}
