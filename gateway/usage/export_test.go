package usage

// What tests outside of the package see of it.
const (
	MaxUnverified = maxUnverified
	MaxName       = maxName
	NewPerNetwork = newPerNetwork
	NewPerDay     = newPerDay
)
