package redistest

import "syscall"

// dieWithUs ends a process with the one that started it, also when that is killed.
func dieWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
