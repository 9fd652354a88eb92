package server

import (
	"io"
	"log"
	"net/http"
	"time"
)

// The bounds of the servers that NewHTTP makes.
const (
	readHeaderTimeout = 10 * time.Second
	writeTimeout      = 2 * time.Minute
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// NewHTTP returns a server for h with bounds for slow, greedy and vanished clients:
// HTTP/1.1, and HTTP/2 without TLS. Bodies have the bound of Options.BodyTimeout. A
// nil logger discards what net/http has to say. The caller serves and shuts down.
func NewHTTP(h http.Handler, logger *log.Logger) *http.Server {
	if logger == nil {
		logger = log.New(io.Discard, "", 0)
	}
	srv := &http.Server{
		Handler:                      h,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            readHeaderTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     logger,
		Protocols:                    new(http.Protocols),
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	return srv
}
