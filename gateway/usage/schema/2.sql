-- Clients get numbers, so that a count takes few bytes, and what is known about
-- them is kept once. A number is made from the name (see clientID).
create table usage_names (
  id         bigint primary key,
  name       text   not null,
  software   text   not null, -- the product of the last User-Agent
  network    bigint not null, -- a keyed hash of the network that first used the name; 0: unknown
  first_seen bigint not null
);
create index usage_names_first_seen on usage_names (first_seen);

-- "refused" becomes "brownout" or "retired". What was refused before counts as
-- refused by a brownout, so that a gate holds rather too long than too short.
-- hours has a bit for each hour of the day in which there were calls. position is
-- the client's place in the order in which brownouts refuse clients of the
-- version; -1: unknown.
alter table usage_calls rename to old_calls;
alter table usage_clients rename to old_clients;
drop index usage_clients_last_seen;
create table usage_calls (
  began   bigint not null,
  version text   not null,
  client  bigint not null,
  outcome text   not null,
  finding text   not null,
  code    text   not null,
  param   text   not null,
  hours   bigint not null,
  calls   bigint not null,
  primary key (began, version, client, outcome, finding, code, param)
);
create table usage_clients (
  version    text   not null,
  client     bigint not null,
  outcome    text   not null,
  first_seen bigint not null,
  last_seen  bigint not null,
  position   double precision not null,
  exempt     bigint not null, -- 1: no brownout of the plan at that time refused it
  primary key (version, client, outcome)
);
create index usage_clients_last_seen on usage_clients (last_seen);
