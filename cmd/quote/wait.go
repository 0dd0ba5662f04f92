package main

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
)

const defaultWait = duration(30 * time.Minute)

// A duration is a flag that may stand alone.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }

func (d *duration) IsBoolFlag() bool { return true }

func (d *duration) Set(text string) error {
	switch text {
	case "true":
		*d = defaultWait
		return nil
	case "false":
		*d = 0
		return nil
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed <= 0 {
		return errors.New("not a time such as 10m")
	}
	*d = duration(parsed)
	return nil
}

// joinValues lets the value of -wait follow as a word of its own, which a flag that may stand alone does not take.
func joinValues(args []string) (joined []string) {
	for i, arg := range args {
		_, err := time.ParseDuration(arg)
		if err == nil && i > 0 && (args[i-1] == "-wait" || args[i-1] == "--wait") {
			joined[len(joined)-1] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}

var transaction = regexp.MustCompile("^0x[0-9a-fA-F]{64}$")

// readStatus reads what -status is about.
func (o *options) readStatus(flags *flag.FlagSet, status, from string) (err error) {
	const rule = "-status takes -from, -wait, -gateway and -json"
	if err := onlyFlags(flags, rule, "status", "from", "wait", "gateway", "json"); err != nil {
		return err
	}
	if !transaction.MatchString(status) {
		return fmt.Errorf("-status %q is not the hash of a transaction, 0x and 64 hexadecimal digits", status)
	}
	hash := common.HexToHash(status)
	o.status = &hash
	if from == "" {
		return errors.New("-from must name the chain of the transaction, such as 1")
	}
	if strings.Contains(from, "@") {
		_, o.src, err = swap.ParseEnd(from)
	} else {
		o.src, err = chain.ParseID(from)
	}
	if err != nil {
		return fmt.Errorf("-from: %w", err)
	}
	return nil
}
