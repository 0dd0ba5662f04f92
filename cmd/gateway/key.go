package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/quotegate/quotegate/gateway/caller"
)

const keyUsage = `usage: gateway key new NAME, with the client's name as in CLIENTS_FILE ("quoted" if it has spaces)`

// newKey is `gateway key new`: it prints a key, which is kept nowhere, and what to
// write into the clients file.
func newKey(_ context.Context, in invocation) error {
	if len(in.args) != 1 {
		return usageError(keyUsage)
	}
	name := in.args[0]
	if err := caller.CheckName(name); err != nil {
		return usageError(fmt.Sprintf("the name: %v; %s", err, keyUsage))
	}
	file := in.env["CLIENTS_FILE"]
	clients, err := caller.NewClients(file, quiet)
	if err != nil {
		return fmt.Errorf("CLIENTS_FILE: %w", err)
	}
	key, hash := caller.NewKey()
	where := fmt.Sprintf("Add this to the client in %s. A service that runs reads it within seconds", file)
	line := fmt.Sprintf(`"keys": [%q]`, hash)
	client, known := clients.Find(name)
	switch {
	case known && client.Keys > 0:
		where += ". The client has other keys: keep their hashes in the list while they are in use"
	case known:
	case file == "":
		where = "CLIENTS_FILE is not set. Write this file, and name it there"
		line = `{"clients": [` + clientWith(name, line) + `]}`
	default:
		where = fmt.Sprintf("%s has no such client yet. Add it to the list, with a contact. A service that runs reads it within seconds", file)
		line = clientWith(name, line)
	}
	_, err = fmt.Fprintf(in.stdout, "The key of %s, to be sent as the header API-Key. It is shown only now, so hand it over safely:\n\n%s\n\n%s:\n\n%s\n", name, key, where, line)
	return err
}

// clientWith is a whole client for the file.
func clientWith(name, keys string) string {
	return fmt.Sprintf(`{"name": %s, "contact": "", "match": [], %s}`, strconv.Quote(name), keys)
}
