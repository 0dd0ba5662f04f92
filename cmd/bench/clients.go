package main

import (
	"context"
	"fmt"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
)

const (
	usualLimit = 30 // requests a minute per client, the default
	few        = 10
	many       = 100_000
	flood      = 1_000_000
)

// crowd is a gateway asked by so many clients.
type crowd struct {
	clients   int
	perMinute int
	requests  int
	cpu       time.Duration
	peak      int64
}

func (c crowd) micros() float64 { return float64(c.cpu.Microseconds()) / float64(c.requests) }

// measureClients finds out what a request costs, and what memory comes to, when
// few clients ask and when very many do.
func measureClients(ctx context.Context, o options, cases []load.Case, rep *report) error {
	fewer, err := startCrowd(ctx, o, few, perMinute)
	if err != nil {
		return err
	}
	defer fewer.Kill()
	more, err := startCrowd(ctx, o, many, usualLimit)
	if err != nil {
		return err
	}
	defer more.Kill()
	progress("%d clients for the first time", many)
	if err := more.ask(ctx, o, cases, many, 0); err != nil {
		return err
	}
	more.cpu, more.requests = 0, 0

	// Ten clients may ask perMinute times each, so that every pass takes ten
	// others. The two take turns.
	const passes, reserve = 10, 10
	for pass := range passes {
		progress("%d and %d clients, pass %d of %d", few, many, pass+1, passes)
		if err := fewer.ask(ctx, o, cases, few*(perMinute-reserve), pass*few); err != nil {
			return err
		}
		if err := more.ask(ctx, o, cases, many/4, 0); err != nil {
			return err
		}
	}
	progress("%d clients", flood)
	most, err := startCrowd(ctx, o, flood, usualLimit)
	if err != nil {
		return err
	}
	defer most.Kill()
	if err := most.ask(ctx, o, cases, flood, 0); err != nil {
		return err
	}
	for _, c := range []*crowdServer{fewer, more, most} {
		if _, c.peak, err = c.Memory(); err != nil {
			return err
		}
		rep.crowds = append(rep.crowds, c.crowd)
	}
	return nil
}

type crowdServer struct {
	crowd
	*child.Server
}

func startCrowd(ctx context.Context, o options, clients, perMinute int) (*crowdServer, error) {
	gateway, err := startGateway(ctx, o.gateway, perMinute, "http://127.0.0.1:9", "") // nobody asks for an integrator
	if err != nil {
		return nil, err
	}
	return &crowdServer{crowd: crowd{clients: clients, perMinute: perMinute}, Server: gateway}, nil
}

// ask makes so many requests, the clients from first on taking turns.
func (c *crowdServer) ask(ctx context.Context, o options, cases []load.Case, requests, first int) error {
	got, err := loadOnce(ctx, &server{name: theGateway, Server: c.Server}, cases,
		load.Options{Conns: o.conns, Duration: 10 * time.Minute, Requests: requests, Clients: c.clients, First: first})
	if err != nil {
		return fmt.Errorf("%d clients: %w", c.clients, err)
	}
	c.requests += got.Requests
	c.cpu += got.cpu
	return nil
}
