-- One text for SQLite and PostgreSQL; store.dialect says what differs. Times are
-- Unix seconds, days are Unix days, outcomes and findings are the words of the code.

-- The secret under which addresses are hashed, when counting began, the day up to
-- which counts of 7, 30 and 90 days are rolled on, and how often names were deleted.
create table usage_meta (
  name  text primary key,
  value text not null
);

-- Every client has a small number.
create table usage_names (
  id         integer primary key,
  name       text   not null unique,
  software   text   not null, -- the product of the last User-Agent
  network    bigint not null, -- a keyed hash of the network that first used the name; 0: unknown
  first_seen bigint not null
);
create index usage_names_first_seen on usage_names (first_seen);

-- What a client called on a day, by outcome. hours has a bit for each hour with
-- calls that were served or that a brownout refused.
create table usage_days (
  day       bigint not null,
  version   text   not null,
  client    bigint not null,
  served    bigint not null,
  brownout  bigint not null,
  retired   bigint not null,
  rehearsed bigint not null,
  failed    bigint not null,
  hours     bigint not null,
  primary key (day, version, client)
) without rowid;

-- What is known about a client of a version. Times are those of the last call of
-- their kind; 0: none. calls are served or refused by a brownout or the sunset, of
-- so many days. found is the day of its findings, worst the gravest of them. kind is
-- 1 for a client known to the operator, 2 for a name made from an address.
create table usage_clients (
  version       text   not null,
  client        bigint not null,
  first_seen    bigint not null,
  last_seen     bigint not null,
  last_call     bigint not null, -- served, or refused by a brownout
  last_served   bigint not null,
  last_410      bigint not null,
  last_rehearsal bigint not null,
  kind          bigint not null,
  position      double precision not null, -- in the order in which brownouts refuse clients; -1: unknown
  exempt        bigint not null, -- 1: at its last call no brownout of the plan refused it
  proven        bigint not null, -- calls with a key
  claimed       bigint not null, -- calls without one
  calls7        bigint not null,
  calls30       bigint not null,
  calls90       bigint not null,
  found         bigint not null,
  worst         bigint not null,
  primary key (version, client)
) without rowid;
create index usage_clients_last_call on usage_clients (version, last_call);

-- What the current version makes of a client's served calls, on the last day with
-- this finding. Those of an earlier day than usage_clients.found count no more.
create table usage_findings (
  version text   not null,
  client  bigint not null,
  finding text   not null,
  code    text   not null,
  param   text   not null,
  day     bigint not null,
  calls   bigint not null,
  primary key (version, client, finding, code, param)
) without rowid;

-- All calls by hour. unnamed are those that count under no client of their own.
create table usage_totals (
  began   bigint not null,
  version text   not null,
  outcome text   not null,
  calls   bigint not null,
  unnamed bigint not null,
  primary key (began, version, outcome)
) without rowid;

-- How many clients called on a day that is over.
create table usage_version_days (
  day     bigint not null,
  version text   not null,
  clients bigint not null,
  primary key (day, version)
) without rowid;

-- The hours in which a service was up and its counts were written.
create table usage_hours (
  began bigint primary key
);

-- One row for each run of the service. stopped is 0 until it ends, batch is the
-- number of the last batch it wrote, every the seconds between its writes, ahead how
-- far its clock is ahead of the database's. plan is "?" until it follows one.
create table usage_instances (
  instance text   primary key,
  host     text   not null,
  plan     text   not null,
  written  bigint not null,
  stopped  bigint not null,
  batch    bigint not null,
  every    bigint not null,
  ahead    bigint not null
);

-- When calls were answered and not counted, nobody knows how many.
create table usage_gaps (
  instance text   not null,
  began    bigint not null,
  ended    bigint not null,
  reason   text   not null
);

-- Gates that have let a sunset pass.
create table usage_releases (
  version  text   not null,
  sunset   bigint not null,
  released bigint not null,
  primary key (version, sunset)
);
