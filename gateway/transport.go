package gateway

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// schemeH2C is the scheme of an upstream that speaks HTTP/2 without TLS.
const schemeH2C = "h2c"

// The transport's own bounds. Idle connections are many, since all of them go to
// one host, and opening one costs more than a request.
const (
	dialTimeout       = 5 * time.Second
	idleConnections   = 256
	idleTimeout       = 90 * time.Second
	maxAnswerHeader   = 1 << 20
	continueTimeout   = time.Second
	handshakeTimeout  = 10 * time.Second
	keepAliveInterval = 15 * time.Second
)

// newTransport returns a transport to one upstream. It asks no other proxy, and
// does not touch the encoding of answers.
func newTransport(h2c bool) *http.Transport {
	t := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAliveInterval}).DialContext,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    idleConnections,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    handshakeTimeout,
		ExpectContinueTimeout:  continueTimeout,
		MaxResponseHeaderBytes: maxAnswerHeader,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
	}
	if h2c {
		t.Protocols.SetUnencryptedHTTP2(true)
		return t
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(true)
	return t
}

// bufferSize is the size of the buffers through which answers are copied.
const bufferSize = 32 << 10

// buffers is a pool of buffers. It implements httputil.BufferPool.
type buffers struct{ pool sync.Pool }

// Get returns a buffer of bufferSize.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

// Put takes back a buffer that Get returned.
func (b *buffers) Put(p []byte) {
	if len(p) == bufferSize {
		b.pool.Put((*[bufferSize]byte)(p))
	}
}
