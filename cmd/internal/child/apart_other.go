//go:build !linux

package child

import "syscall"

// apart keeps the signals of the terminal from a child, as on Linux. It outlives this process if that is killed.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
