package admin

import (
	"net/http"
	"strconv"
	"time"

	"github.com/quotegate/quotegate/gateway/admin/page"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/web"
)

// addPages adds the pages beside the overview, which is at the root.
func (h *handler) addPages() {
	if !h.hasPages() {
		return
	}
	h.get("/clients", "page: the clients, sorted and filtered like /admin/usage", h.clients)
	h.get("/client", "page: one client, for ?client=NAME, and what to write to it", h.client)
	h.get("/what-if", "page: whom one more window would hit", h.whatIf)
	h.get("/health", "page: the state of the parts of this process", h.health)
}

func (h *handler) hasPages() bool { return h.Usage != nil && h.Plan != nil && h.Health != nil }

// root is the overview for browsers, and a list of the paths for everyone else.
func (h *handler) root(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !h.hasPages() || !web.PrefersHTML(r.Header) {
		reply(w, http.StatusOK, h.descriptions)
		return
	}
	facts := h.facts(r, usage.Query{Old: "yes", Per: page.OverviewClients})
	facts.CountNext(func(q usage.Query) (usage.Report, error) { return h.Usage.Report(r.Context(), q) })
	status := http.StatusOK
	if facts.Missing != "" {
		status = http.StatusServiceUnavailable
	}
	h.send(w, status)(page.Overview(facts))
}

// facts reads the plan, and the clients of a query.
func (h *handler) facts(r *http.Request, q usage.Query) page.Facts {
	facts := page.Facts{Plan: h.Plan()}
	var err error
	if facts.Report, err = h.Usage.Report(r.Context(), q); err != nil {
		facts.Report, facts.Missing = usage.Report{}, err.Error()
	}
	facts.Now = facts.Report.At
	if facts.Now.IsZero() {
		facts.Now = time.Now()
	}
	return facts
}

func (h *handler) clients(w http.ResponseWriter, r *http.Request) {
	query, err := h.query(r)
	if err != nil {
		h.problem(w, http.StatusBadRequest, "This cannot be shown", err.Error())
		return
	}
	if facts := h.facts(r, query); facts.Missing != "" {
		h.unavailable(w, facts)
	} else {
		h.send(w, http.StatusOK)(page.Clients(facts, query))
	}
}

func (h *handler) client(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("client")
	if name == "" {
		h.problem(w, http.StatusBadRequest, "Which client?", "The address of this page ends in ?client= and the client's name.")
		return
	}
	facts := h.facts(r, usage.Query{Client: name})
	switch {
	case facts.Missing != "":
		h.unavailable(w, facts)
	case len(facts.Report.Clients) == 0:
		h.problem(w, http.StatusNotFound, "Not seen", "No client of this name has called within 90 days.")
	default:
		h.send(w, http.StatusOK)(page.Client(facts))
	}
}

// whatIf simulates the plan in force, with one more window if the form has one.
func (h *handler) whatIf(w http.ResponseWriter, r *http.Request) {
	facts := page.Facts{Plan: h.Plan(), Now: time.Now()}
	form, plan := page.ReadForm(r.URL.Query()), facts.Plan.Plan
	if !form.Empty() && !facts.Knows(form.Version) {
		h.problem(w, http.StatusBadRequest, "This cannot be shown", "There is no such version.")
		return
	}
	if window, err := form.Window(); err == nil {
		plan, _ = facts.With(form.Version, window) // the page says why it is not valid
	}
	simulation, err := h.Usage.Simulate(r.Context(), plan)
	if err != nil {
		facts.Missing = err.Error()
		h.unavailable(w, facts)
		return
	}
	if !simulation.At.IsZero() {
		facts.Now = simulation.At
	}
	h.send(w, http.StatusOK)(page.WhatIf(facts, form, simulation))
}

func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	h.send(w, http.StatusOK)(page.Health(h.Health(), time.Now()))
}

func (h *handler) unavailable(w http.ResponseWriter, facts page.Facts) {
	h.problem(w, http.StatusServiceUnavailable, "The counts cannot be read", facts.Missing)
}

func (h *handler) problem(w http.ResponseWriter, status int, title, text string) {
	h.send(w, status)(page.Problem(title, text, time.Now()))
}

// send returns a function that sends a whole page, or an error if it could not be
// rendered.
func (h *handler) send(w http.ResponseWriter, status int) func([]byte, error) {
	return func(body []byte, err error) {
		if err != nil {
			h.Log.Error("admin: a page cannot be rendered", "error", err)
			fail(w, http.StatusInternalServerError, "The page cannot be shown; the log says why")
			return
		}
		w.Header().Set("Content-Type", htmlType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Header().Set("Content-Security-Policy", page.Policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("X-Frame-Options", "DENY")
		w.WriteHeader(status)
		_, _ = w.Write(body) // an error here means that the client has left
	}
}
