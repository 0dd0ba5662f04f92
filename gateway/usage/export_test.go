package usage

// What tests outside of the package see of it.
const (
	MaxStrangers  = maxStrangers
	MaxName       = maxName
	NewPerNetwork = newPerNetwork
	NewPerDay     = newPerDay
)
