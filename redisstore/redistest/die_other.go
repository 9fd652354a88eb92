//go:build !linux

package redistest

import "syscall"

func dieWithUs() *syscall.SysProcAttr { return nil }
