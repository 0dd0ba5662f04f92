package railgun_test

import (
	"fmt"

	"github.com/quotegate/quotegate/shared/railgun"
)

// A wallet prints a 0zk address; the address says where it may be paid.
func ExampleParseAddress() {
	const text = "0zk1qy5zht8754jmmlaaxvzcyv5f6x2lspwjetahc9yxyfl43692xpva5unpd9kxwatw8rw0xufcqw6q0m6nrkcur3vh23685tg72fv5ju8t48v29kyzcqes29xr7pf"
	address, err := railgun.ParseAddress(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(address.String() == text)
	fmt.Println(address.PayableOn(56))
	fmt.Println(address.PayableOn(1))

	_, err = railgun.ParseAddress(text[:len(text)-1])
	fmt.Println(err)
	// Output:
	// true
	// <nil>
	// INVALID_RECIPIENT: The 0zk address is bound to chain 56, the route needs chain 1
	// INVALID_RECIPIENT: Invalid 0zk address: it has 126 characters, must have 127
}
