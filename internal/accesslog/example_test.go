package accesslog_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stint-dev/stint/internal/accesslog"
)

func Example() {
	log := `192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /v1/orders HTTP/1.1" 200 5 "-" "curl/8.5.0"
{"ts":1431857104.25,"request":{"remote_ip":"2001:db8::1","method":"POST","uri":"/v1/orders","headers":{"X-Api-Key":["k_acme"]}},"status":201}
office.example.org - - [17/May/2015:10:05:05 +0000] "GET / HTTP/1.1" 200 5
`
	r := accesslog.NewReader(strings.NewReader(log), accesslog.Options{})
	var e accesslog.Entry
	for {
		err := r.Read(&e)
		var bad *accesslog.LineError
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.As(err, &bad):
			fmt.Println(bad.Line, bad.Reason)
		case err != nil:
			fmt.Println(err)
			return
		default:
			key, _ := e.Header("X-Api-Key")
			fmt.Printf("%s %s %s %s %d %q\n", e.Time.Format("15:04:05.00"), e.Addr, e.Method, e.Path, e.Status, key)
		}
	}
	// Output:
	// 10:05:03.00 192.0.2.1 GET /v1/orders 200 ""
	// 10:05:04.25 2001:db8::1 POST /v1/orders 201 "k_acme"
	// 3 bad address
}
