// Package railgun turns a 0zk address into a shield note: what a pool needs,
// beside token and value, to credit that address in RAILGUN privately.
//
// It promises three things. An address is accepted only if a wallet can own it
// and only in the one form that wallets print; the rules are a strict subset
// of those of the public engine. A note is made of fresh randomness that
// nobody keeps, and leaves only after it was opened, its public key computed
// again and its shield key decoded. And the whole computation can prove itself on answers made by
// the public engine: a service that pays by it must not start unless SelfTest
// is nil, because a wallet shows a note with a wrong public key as balance
// and can never spend it.
package railgun
