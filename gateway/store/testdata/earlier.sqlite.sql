CREATE TABLE usage_migrations (number bigint primary key);
CREATE TABLE usage_meta (
  name  text primary key,
  value text not null
);
CREATE TABLE usage_names (
  id         integer primary key,
  name       text   not null unique,
  software   text   not null, -- the product of the last User-Agent
  network    bigint not null, -- a keyed hash of the network that first used the name; 0: unknown
  first_seen bigint not null
);
CREATE INDEX usage_names_first_seen on usage_names (first_seen);
CREATE TABLE usage_days (
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
CREATE TABLE usage_clients (
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
CREATE INDEX usage_clients_last_call on usage_clients (version, last_call);
CREATE TABLE usage_findings (
  version text   not null,
  client  bigint not null,
  finding text   not null,
  code    text   not null,
  param   text   not null,
  day     bigint not null,
  calls   bigint not null,
  primary key (version, client, finding, code, param)
) without rowid;
CREATE TABLE usage_totals (
  began   bigint not null,
  version text   not null,
  outcome text   not null,
  calls   bigint not null,
  unnamed bigint not null,
  primary key (began, version, outcome)
) without rowid;
CREATE TABLE usage_version_days (
  day     bigint not null,
  version text   not null,
  clients bigint not null,
  primary key (day, version)
) without rowid;
CREATE TABLE usage_hours (
  began bigint primary key
);
CREATE TABLE usage_instances (
  instance text   primary key,
  host     text   not null,
  plan     text   not null,
  written  bigint not null,
  stopped  bigint not null,
  batch    bigint not null,
  every    bigint not null,
  ahead    bigint not null
);
CREATE TABLE usage_gaps (
  instance text   not null,
  began    bigint not null,
  ended    bigint not null,
  reason   text   not null
);
CREATE TABLE usage_releases (
  version  text   not null,
  sunset   bigint not null,
  released bigint not null,
  primary key (version, sunset)
);
insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) values ('v1', 1, 1804681930, 1804681930, 1804681930, 1804681930, 0, 0, 2, 0.2915515258440271, 0, 0, 1, 1, 1, 1, 0, 0);
insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) values ('v1', 2, 1804681930, 1804775530, 1804775530, 1804775530, 0, 0, 1, 0.2915515258440271, 0, 0, 4, 4, 4, 4, 0, 0);
insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) values ('v1', 3, 1804681930, 1804681930, 1804681930, 1804681930, 0, 0, 0, 0.2915515258440271, 0, 0, 2, 2, 2, 2, 20887, 3);
insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) values ('v1', 4, 1804681930, 1804681930, 1804681930, 0, 1804681930, 0, 0, 0.2915515258440271, 0, 0, 1, 1, 1, 1, 0, 0);
insert into usage_clients (version, client, first_seen, last_seen, last_call, last_served, last_410, last_rehearsal, kind, position, exempt, proven, claimed, calls7, calls30, calls90, found, worst) values ('v3', 2, 1804775530, 1804775530, 1804775530, 1804775530, 0, 0, 1, 0.46176092746851016, 0, 0, 1, 1, 1, 1, 0, 0);
insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours) values (20887, 'v1', 1, 1, 0, 0, 0, 0, 4096);
insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours) values (20887, 'v1', 2, 3, 0, 0, 0, 0, 4096);
insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours) values (20887, 'v1', 3, 2, 0, 0, 0, 0, 4096);
insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours) values (20887, 'v1', 4, 0, 1, 0, 0, 0, 4096);
insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours) values (20888, 'v1', 2, 1, 0, 0, 0, 0, 16384);
insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours) values (20888, 'v3', 2, 1, 0, 0, 0, 0, 16384);
insert into usage_findings (version, client, finding, code, param, day, calls) values ('v1', 3, 'refused', 'INVALID_AMOUNT', 'amount', 20887, 2);
insert into usage_gaps (instance, began, ended, reason) values ('KILLED', 1804681870, 1804681930, 'an instance ended without writing its last counts');
insert into usage_hours (began) values (1804680000);
insert into usage_hours (began) values (1804683600);
insert into usage_hours (began) values (1804687200);
insert into usage_hours (began) values (1804690800);
insert into usage_hours (began) values (1804694400);
insert into usage_hours (began) values (1804698000);
insert into usage_hours (began) values (1804701600);
insert into usage_hours (began) values (1804705200);
insert into usage_hours (began) values (1804708800);
insert into usage_hours (began) values (1804712400);
insert into usage_hours (began) values (1804716000);
insert into usage_hours (began) values (1804719600);
insert into usage_hours (began) values (1804723200);
insert into usage_hours (began) values (1804726800);
insert into usage_hours (began) values (1804730400);
insert into usage_hours (began) values (1804734000);
insert into usage_hours (began) values (1804737600);
insert into usage_hours (began) values (1804741200);
insert into usage_hours (began) values (1804744800);
insert into usage_hours (began) values (1804748400);
insert into usage_hours (began) values (1804752000);
insert into usage_hours (began) values (1804755600);
insert into usage_hours (began) values (1804759200);
insert into usage_hours (began) values (1804762800);
insert into usage_hours (began) values (1804766400);
insert into usage_hours (began) values (1804770000);
insert into usage_hours (began) values (1804773600);
insert into usage_instances (instance, host, plan, written, stopped, batch, every, ahead) values ('6QK4WUNMZXAMYH33LYVNC4TGSQ', 'vm', '0123456789ab', 1804775530, 1804775530, 5, 5, 0);
insert into usage_meta (name, value) values ('since', '1804681930');
insert into usage_meta (name, value) values ('rolled', '20888');
insert into usage_meta (name, value) values ('deleted', '0');
insert into usage_meta (name, value) values ('secret', 'DRPOZFJOV5Z7ZIDR5QKEWGY5OC');
insert into usage_migrations (number) values (1);
insert into usage_names (id, name, software, network, first_seen) values (1, 'agent curl #7e92f4123def78c3', '', 0, 1804681930);
insert into usage_names (id, name, software, network, first_seen) values (2, 'client Acme', '', 0, 1804681930);
insert into usage_names (id, name, software, network, first_seen) values (3, 'origin https://a.example', '', 0, 1804681930);
insert into usage_names (id, name, software, network, first_seen) values (4, 'origin https://b.example', '', 0, 1804681930);
insert into usage_releases (version, sunset, released) values ('v1', 1804681930, 1804775530);
insert into usage_totals (began, version, outcome, calls, unnamed) values (1804680000, 'v1', 'brownout', 1, 0);
insert into usage_totals (began, version, outcome, calls, unnamed) values (1804680000, 'v1', 'served', 6, 0);
insert into usage_totals (began, version, outcome, calls, unnamed) values (1804773600, 'v1', 'served', 1, 0);
insert into usage_totals (began, version, outcome, calls, unnamed) values (1804773600, 'v3', 'served', 1, 0);
insert into usage_version_days (day, version, clients) values (20887, 'v1', 4);
