-- The schema of a release before the first, number 3, with a few rows. It is what
-- its migrations made of number 1.
create table usage_migrations (number bigint primary key);

create table usage_meta (
  name  text primary key,
  value text not null
);

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

create table usage_instances (
  instance text   primary key,
  written  bigint not null,
  stopped  bigint not null,
  batch    bigint not null
);

create table usage_keys (
  fingerprint text   primary key,
  used        bigint not null
);

create table usage_gaps (
  instance text   not null,
  began    bigint not null,
  ended    bigint not null,
  calls    bigint not null,
  reason   text   not null
);
create table usage_names (
  id         bigint primary key,
  name       text   not null,
  software   text   not null, -- the product of the last User-Agent
  network    bigint not null, -- a keyed hash of the network that first used the name; 0: unknown
  first_seen bigint not null
);
create index usage_names_first_seen on usage_names (first_seen);

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
insert into usage_calls
  select began, version, id, case outcome when 'refused' then 'brownout' else outcome end, finding, code, param,
    case when began % 86400 = 0 then 16777215 else cast(1 as bigint) << cast(began % 86400 / 3600 as integer) end, calls
  from old_calls join usage_names on name = client;
insert into usage_clients
  select version, id, case outcome when 'refused' then 'brownout' else outcome end, old_clients.first_seen, last_seen, -1, 0
  from old_clients join usage_names on name = client;
update usage_totals set outcome = 'brownout' where outcome = 'refused';
drop table old_calls;
drop table old_clients;

alter table usage_instances add column plan text not null default '';
alter table usage_instances add column host text not null default '';

create table usage_releases (
  version  text   not null,
  sunset   bigint not null,
  released bigint not null,
  primary key (version, sunset)
);
insert into usage_migrations (number) values (1), (2), (3);
insert into usage_meta (name, value) values ('since', '1804680000'), ('secret', 'a secret of a test');
insert into usage_names (id, name, software, network, first_seen) values (7, 'origin https://a.example', 'curl', 0, 1804680000);
insert into usage_calls (began, version, client, outcome, finding, code, param, hours, calls) values (1804680000, 'v1', 7, 'served', '', '', '', 1, 3);
insert into usage_instances (instance, written, stopped, batch) values ('EARLIER', 1804680000, 0, 4);
