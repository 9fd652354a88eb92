package clientip_test

import (
	"fmt"

	"github.com/stint-dev/stint/internal/clientip"
)

func ExampleResolver_Client() {
	var o clientip.Options
	if err := o.Trust("10.0.0.0/8"); err != nil {
		fmt.Println(err)
	}
	r, err := clientip.New(o)
	if err != nil {
		fmt.Println(err)
	}
	header := []string{"198.51.100.7, 2001:db8:1:2::9", "10.1.2.3"}

	fmt.Println(r.Client("10.0.0.5:40000", header))
	fmt.Println(r.Client("192.0.2.1:40000", header))
	fmt.Println(r.Client("@", header).IsValid())
	// Output:
	// 2001:db8:1:2::9
	// 192.0.2.1
	// false
}
