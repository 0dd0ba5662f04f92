package usage

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/words"
)

// Print writes a simulation as text.
func (s *Simulation) Print(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, note := range s.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
	if len(s.Notes) > 0 {
		fmt.Fprintln(out)
	}
	for _, hit := range s.Windows {
		fmt.Fprintf(out, "%s from %s to %s, %g %% of clients\n", hit.Version, hit.From.Format(time.RFC3339), hit.To.Format(time.RFC3339), hit.Share*100)
		hit.print(out, "about "+words.Count(hit.Calls, "call", "calls"))
	}
	for _, hit := range s.Sunsets() {
		fmt.Fprintf(out, "%s from its sunset on, %s\n", hit.Version, hit.From.Format(time.RFC3339))
		hit.print(out, "about "+words.Count(hit.Calls, "call a day", "calls a day"))
	}
	if len(s.Windows)+len(s.Sunset) == 0 {
		fmt.Fprintln(out, "The plan has no window and no sunset: nobody would be refused.")
	}
	return out.Flush()
}

// Sunsets lists the sunsets in the order of the versions.
func (s *Simulation) Sunsets() (hits []Hit) {
	for _, version := range s.order {
		if hit, ok := s.Sunset[version]; ok {
			hits = append(hits, hit)
		}
	}
	return hits
}

func (h *Hit) print(w io.Writer, calls string) {
	const most = 10
	if h.Clients == 0 {
		fmt.Fprintf(w, "  would refuse nobody who called at that time\n\n")
		return
	}
	fmt.Fprintf(w, "  would refuse %s, %d of them known, and %s\n", words.Count(h.Clients, "client", "clients"), h.Known, calls)
	names := h.Names[:min(most, len(h.Names))]
	for _, name := range names {
		fmt.Fprintf(w, "    %s\n", strings.TrimPrefix(name, "client "))
	}
	if more := h.Clients - len(names); more > 0 {
		fmt.Fprintf(w, "    and %d more\n", more)
	}
	fmt.Fprintln(w)
}
