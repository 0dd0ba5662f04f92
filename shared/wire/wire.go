// Package wire holds the parts of the format that all versions have in common:
// the query and its parameters, a token, an approval, a call, an error. What is
// different in a version is in its own package.
package wire
