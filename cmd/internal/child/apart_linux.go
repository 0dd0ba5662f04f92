package child

import "syscall"

// apart keeps the signals of the terminal from a child: Stop sends it one, and a gateway would take Ctrl-C before that
// for the first of two, which end it at once. A child that cannot be stopped any more, because this process was killed,
// is killed too.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
