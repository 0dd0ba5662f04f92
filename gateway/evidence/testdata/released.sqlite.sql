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
  id         integer primary key,
  name       text   not null,
  kind       text   not null, -- the first word of the name: client, integrator, origin, agent
  software   text   not null, -- the product of the last User-Agent
  network    integer not null, -- a keyed hash of the network that first used the name; 0: unknown
  first_seen integer not null
) strict;
create index quotegate_clients_first_seen on quotegate_clients (first_seen, network);

-- What a client called on a day, by outcome.
create table quotegate_days (
  version        text   not null,
  client         integer not null,
  day            integer not null,
  served         integer not null,
  brownout       integer not null, -- refused by a brownout
  retired        integer not null, -- refused because the version is retired
  rehearsed      integer not null, -- refused because the client asked for a rehearsal
  failed         integer not null, -- any other error
  hours          integer not null, -- a bit for each hour with calls that were served or that a brownout refused
  last           integer not null, -- the last call that was served, or refused by a brownout or the sunset; 0: none
  last_410       integer not null, -- the last that was refused by a brownout or the sunset; 0: none
  last_rehearsal integer not null, -- 0: none
  proven         integer not null, -- calls with a key
  position       real not null, -- at the last call: its place in the order of brownouts
  exempt         integer not null, -- at the last call: 1 if no brownout of the plan refused it
  primary key (version, client, day)
) without rowid, strict;
create index quotegate_days_day on quotegate_days
  (version, day, client, served, brownout, retired, failed, proven, hours);

-- What the current version would have answered to calls that were served, on the last day
-- on which it would have answered so.
create table quotegate_findings (
  version text   not null,
  client  integer not null,
  day     integer not null,
  finding text   not null,
  code    text   not null,
  param   text   not null,
  calls   integer not null,
  primary key (version, client, finding, code, param)
) without rowid, strict;

-- All calls by hour. unnamed are those that count under no client.
create table quotegate_totals (
  hour    integer not null,
  version text   not null,
  outcome text   not null,
  calls   integer not null,
  unnamed integer not null,
  primary key (hour, version, outcome)
) without rowid, strict;

-- One row for each run of the service. Every call before written is in the database, as of
-- the batch with this number. stopped is 0 until the run ends properly.
create table quotegate_instances (
  instance text   primary key,
  host     text   not null,
  plan     text   not null, -- a hash of the plan it follows; "?" until it follows one
  batch    integer not null,
  started  integer not null,
  written  integer not null,
  stopped  integer not null
) without rowid, strict;

-- When calls were answered and are not counted, nobody knows how many.
create table quotegate_gaps (
  instance text   not null,
  began    integer not null,
  ended    integer not null,
  reason   text   not null
) strict;

-- Gates that have let a sunset pass. entry is a hash of the sunset and the gate in the plan.
-- It is empty where a version of this service before 1.0 has let it pass.
create table quotegate_releases (
  version  text   not null,
  sunset   integer not null,
  entry    text   not null,
  released integer not null,
  primary key (version, sunset, entry)
) without rowid, strict;
insert into quotegate_meta values ('earlier_bytes', '4096');
insert into quotegate_meta values ('schema', '1');
insert into quotegate_meta values ('secret', '4HBIBXFW5KPXPW7GWJEOIQAZ4N');
insert into quotegate_meta values ('since', '1801299600');
insert into quotegate_clients values (-7964938026807111740, 'origin https://wallet.example', 'origin', '', 0, 1803891600);
insert into quotegate_clients values (-1694817605547324615, 'client atlas', 'client', '', 0, 1803891600);
insert into quotegate_days values ('v1', -7964938026807111740, 20878, 2, 0, 0, 0, 0, 512, 1803891600, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -7964938026807111740, 20879, 2, 0, 0, 0, 0, 512, 1803978000, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -7964938026807111740, 20880, 2, 0, 0, 0, 0, 512, 1804064400, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -1694817605547324615, 20878, 3, 0, 0, 0, 0, 512, 1803891600, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -1694817605547324615, 20879, 3, 0, 0, 0, 0, 512, 1803978000, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -1694817605547324615, 20880, 3, 0, 0, 0, 0, 512, 1804064400, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -1694817605547324615, 20881, 3, 0, 0, 0, 0, 512, 1804150800, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -1694817605547324615, 20882, 3, 0, 0, 0, 0, 512, 1804237200, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -1694817605547324615, 20883, 3, 0, 0, 0, 0, 512, 1804323600, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -1694817605547324615, 20884, 3, 0, 0, 0, 0, 512, 1804410000, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -1694817605547324615, 20885, 3, 0, 0, 0, 0, 512, 1804496400, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v1', -1694817605547324615, 20886, 3, 0, 0, 0, 0, 512, 1804582800, 0, 0, 0, 0.291, 0);
insert into quotegate_days values ('v3', -1694817605547324615, 20878, 1, 0, 0, 0, 0, 512, 1803891600, 0, 0, 0, 0.461, 0);
insert into quotegate_days values ('v3', -1694817605547324615, 20879, 1, 0, 0, 0, 0, 512, 1803978000, 0, 0, 0, 0.461, 0);
insert into quotegate_days values ('v3', -1694817605547324615, 20880, 1, 0, 0, 0, 0, 512, 1804064400, 0, 0, 0, 0.461, 0);
insert into quotegate_days values ('v3', -1694817605547324615, 20881, 1, 0, 0, 0, 0, 512, 1804150800, 0, 0, 0, 0.461, 0);
insert into quotegate_days values ('v3', -1694817605547324615, 20882, 1, 0, 0, 0, 0, 512, 1804237200, 0, 0, 0, 0.461, 0);
insert into quotegate_days values ('v3', -1694817605547324615, 20883, 1, 0, 0, 0, 0, 512, 1804323600, 0, 0, 0, 0.461, 0);
insert into quotegate_days values ('v3', -1694817605547324615, 20884, 1, 0, 0, 0, 0, 512, 1804410000, 0, 0, 0, 0.461, 0);
insert into quotegate_days values ('v3', -1694817605547324615, 20885, 1, 0, 0, 0, 0, 512, 1804496400, 0, 0, 0, 0.461, 0);
insert into quotegate_days values ('v3', -1694817605547324615, 20886, 1, 0, 0, 0, 0, 512, 1804582800, 0, 0, 0, 0.461, 0);
insert into quotegate_totals values (1803891600, 'v1', 'served', 5, 0);
insert into quotegate_totals values (1803891600, 'v3', 'served', 1, 0);
insert into quotegate_totals values (1803978000, 'v1', 'served', 5, 0);
insert into quotegate_totals values (1803978000, 'v3', 'served', 1, 0);
insert into quotegate_totals values (1804064400, 'v1', 'served', 5, 0);
insert into quotegate_totals values (1804064400, 'v3', 'served', 1, 0);
insert into quotegate_totals values (1804150800, 'v1', 'served', 3, 0);
insert into quotegate_totals values (1804150800, 'v3', 'served', 1, 0);
insert into quotegate_totals values (1804237200, 'v1', 'served', 3, 0);
insert into quotegate_totals values (1804237200, 'v3', 'served', 1, 0);
insert into quotegate_totals values (1804323600, 'v1', 'served', 3, 0);
insert into quotegate_totals values (1804323600, 'v3', 'served', 1, 0);
insert into quotegate_totals values (1804410000, 'v1', 'served', 3, 0);
insert into quotegate_totals values (1804410000, 'v3', 'served', 1, 0);
insert into quotegate_totals values (1804496400, 'v1', 'served', 3, 0);
insert into quotegate_totals values (1804496400, 'v3', 'served', 1, 0);
insert into quotegate_totals values (1804582800, 'v1', 'served', 3, 0);
insert into quotegate_totals values (1804582800, 'v3', 'served', 1, 0);
insert into quotegate_instances values ('GNXEEDKROCMNTKPL63MIGCKXPT', 'vm', 'e27048f9b272', 13, 1801299600, 1804683600, 1804683600);
insert into quotegate_releases values ('v1', 1804680000, '11edb0832509', 1804683600);
