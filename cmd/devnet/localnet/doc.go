// Package localnet runs simulated chains with the reference contracts.
package localnet
