// Package wire holds the words that all versions of the interface have in
// common: the parameters of a swap, a token, an approval, a call, an error.
// What a version says differently it says in its own package.
package wire
