package cleanpath_test

import (
	"fmt"

	"github.com/stint-dev/stint/internal/cleanpath"
)

func ExampleClean() {
	fmt.Println(cleanpath.Clean("//api/v2/%2e%2e/%6Cogin"))
	fmt.Println(cleanpath.Clean("/files/a%2fb"))
	// Output:
	// /api/login
	// /files/a%2Fb
}
