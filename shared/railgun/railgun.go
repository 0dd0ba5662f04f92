// Package railgun turns a 0zk address into a shield note: what a pool needs,
// beside token and value, to credit that address in RAILGUN privately.
//
// What it promises:
//   - An address is accepted only if a wallet can own it, and only in the form
//     that wallets print. The rules are stricter than the public engine's.
//   - A note is made from fresh randomness, which is not kept. NewNote returns it
//     only after it has opened the note, computed its public key again and
//     decoded its shield key.
//   - SelfTest compares the whole computation with notes from the public engine.
//     A service must not start unless SelfTest returns nil: a wallet shows a note
//     with a wrong public key as balance, but can never spend it.
package railgun
