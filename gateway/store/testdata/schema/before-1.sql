-- The schema of a release before the first, number 1, with a few rows.
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
insert into usage_migrations (number) values (1);
insert into usage_meta (name, value) values ('since', '1804680000'), ('secret', 'a secret of a test');
insert into usage_calls (began, version, client, outcome, finding, code, param, calls) values (1804680000, 'v1', 'origin https://a.example', 'served', '', '', '', 3);
insert into usage_instances (instance, written, stopped, batch) values ('EARLIER', 1804680000, 1804680000, 4);
