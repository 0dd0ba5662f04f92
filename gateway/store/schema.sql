-- One text for SQLite and PostgreSQL; store.dialect says what differs. Times are Unix
-- seconds and days Unix days, both in UTC. Rows are added to, and nothing that can be
-- worked out from them is stored.

-- What the database says about itself: the number of this schema, when counting began,
-- and the secret under which names and addresses are hashed.
create table quotegate_meta (
  name  text primary key,
  value text not null
) without rowid, strict;

-- Every client that was counted under its own name. The id is a keyed hash of the name,
-- so that it is the same on every instance and after a restore.
create table quotegate_clients (
  id         bigint primary key,
  name       text   not null,
  kind       text   not null, -- the first word of the name: client, integrator, origin, agent
  software   text   not null, -- the product of the last User-Agent
  network    bigint not null, -- a keyed hash of the network that first used the name; 0: unknown
  first_seen bigint not null
) strict;
create index quotegate_clients_first_seen on quotegate_clients (first_seen, network);

-- What a client called on a day, by outcome.
create table quotegate_days (
  version        text   not null,
  client         bigint not null,
  day            bigint not null,
  served         bigint not null,
  brownout       bigint not null, -- refused by a brownout
  retired        bigint not null, -- refused because the version is retired
  rehearsed      bigint not null, -- refused because the client asked for a rehearsal
  failed         bigint not null, -- any other error
  hours          bigint not null, -- a bit for each hour with calls that were served or that a brownout refused
  last           bigint not null, -- the last call that was served, or refused by a brownout or the sunset; 0: none
  last_410       bigint not null, -- the last that was refused by a brownout or the sunset; 0: none
  last_rehearsal bigint not null, -- 0: none
  proven         bigint not null, -- calls with a key
  position       double precision not null, -- at the last call: its place in the order of brownouts
  exempt         bigint not null, -- at the last call: 1 if no brownout of the plan refused it
  primary key (version, client, day)
) without rowid, strict;
create index quotegate_days_day on quotegate_days
  (version, day, client, served, brownout, retired, failed, proven, hours);

-- What the current version would have answered to calls that were served, on the last day
-- on which it would have answered so.
create table quotegate_findings (
  version text   not null,
  client  bigint not null,
  day     bigint not null,
  finding text   not null,
  code    text   not null,
  param   text   not null,
  calls   bigint not null,
  primary key (version, client, finding, code, param)
) without rowid, strict;

-- All calls by hour. unnamed are those that count under no client.
create table quotegate_totals (
  hour    bigint not null,
  version text   not null,
  outcome text   not null,
  calls   bigint not null,
  unnamed bigint not null,
  primary key (hour, version, outcome)
) without rowid, strict;

-- One row for each run of the service. Every call before written is in the database, as of
-- the batch with this number. stopped is 0 until the run ends properly.
create table quotegate_instances (
  instance text   primary key,
  host     text   not null,
  plan     text   not null, -- a hash of the plan it follows; "?" until it follows one
  batch    bigint not null,
  started  bigint not null,
  written  bigint not null,
  stopped  bigint not null
) without rowid, strict;

-- When calls were answered and are not counted, nobody knows how many.
create table quotegate_gaps (
  instance text   not null,
  began    bigint not null,
  ended    bigint not null,
  reason   text   not null
) strict;

-- Gates that have let a sunset pass. entry is a hash of the sunset and the gate in the plan.
-- It is empty where a version of this service before 1.0 has let it pass.
create table quotegate_releases (
  version  text   not null,
  sunset   bigint not null,
  entry    text   not null,
  released bigint not null,
  primary key (version, sunset, entry)
) without rowid, strict;
