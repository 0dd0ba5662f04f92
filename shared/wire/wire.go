// Package wire holds the words that all versions of the interface have in
// common: the query and its parameters, a token, an approval, a call, an error.
// What a version says differently it says in its own package.
package wire
