package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
)

// upstream answers every request with the same few bytes and costs as little as
// it can, so that what is measured is the proxy before it. It reads requests
// without a body only.
type upstream struct {
	listener net.Listener
	answer   []byte
}

func startUpstream() (*upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	body := `{"order":7,"state":"` + strings.Repeat("x", 200) + `"}`
	u := &upstream{listener: l, answer: fmt.Appendf(nil,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)}
	go u.accept()
	return u, nil
}

func (u *upstream) addr() string { return u.listener.Addr().String() }

func (u *upstream) accept() {
	for {
		c, err := u.listener.Accept()
		if err != nil {
			return
		}
		go u.serve(c)
	}
}

func (u *upstream) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(bytes.TrimRight(line, "\r\n")) > 0 {
			continue
		}
		if _, err := c.Write(u.answer); err != nil {
			return
		}
	}
}
