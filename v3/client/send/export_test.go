package send

// Forget forgets all payments, as a new process has.
func Forget() {
	payments.mu.Lock()
	defer payments.mu.Unlock()
	clear(payments.known)
}
