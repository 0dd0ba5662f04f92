-- One dialect for SQLite and PostgreSQL. Times are Unix seconds.

-- The secret under which addresses are hashed, when counting began, and the day on
-- which hours were last folded.
create table usage_meta (
  name  text primary key,
  value text not null
);

-- Calls by hour. Hours older than two weeks are folded into days (UTC).
-- finding, code and param say what the current version makes of a served call,
-- and are empty where nothing was compared.
create table usage_calls (
  began   bigint not null,
  version text   not null,
  client  text   not null,
  outcome text   not null,
  finding text   not null,
  code    text   not null,
  param   text   not null,
  calls   bigint not null,
  primary key (began, version, client, outcome, finding, code, param)
);

-- The same added up by hour and by client, for the questions that are asked all
-- the time.
create table usage_totals (
  began   bigint not null,
  version text   not null,
  outcome text   not null,
  calls   bigint not null,
  primary key (began, version, outcome)
);
create table usage_clients (
  version    text   not null,
  client     text   not null,
  outcome    text   not null,
  first_seen bigint not null,
  last_seen  bigint not null,
  primary key (version, client, outcome)
);
create index usage_clients_last_seen on usage_clients (last_seen);

-- One row for each run of the service. stopped is 0 until it ends, batch is the
-- number of the last batch it wrote.
create table usage_instances (
  instance text   primary key,
  written  bigint not null,
  stopped  bigint not null,
  batch    bigint not null
);

-- Fingerprints of the keys that names were hashed under.
create table usage_keys (
  fingerprint text   primary key,
  used        bigint not null
);

-- When calls were served and not counted. calls is 0 where nobody knows how many.
create table usage_gaps (
  instance text   not null,
  began    bigint not null,
  ended    bigint not null,
  calls    bigint not null,
  reason   text   not null
);
