-- All statements of a SQLite database, by name; those of PostgreSQL have the same names.
-- Times are Unix seconds and days Unix days, both in UTC. Rows are added to, and nothing
-- that can be worked out from them is stored.

-- name: make
-- What the database says about itself: the number of this schema, when counting began, the
-- secret under which names and addresses are hashed, and the plan that was last accepted.
create table quotegate_meta (
  name  text primary key,
  value text not null
) without rowid, strict;

-- Every client that was counted under its own name. The id is a keyed hash of the name,
-- so that it is the same on every instance and after a restore.
create table quotegate_clients (
  id         integer primary key,
  name       text    not null,
  kind       text    not null, -- the first word of the name: client, integrator, origin, agent
  software   text    not null, -- the product of the last User-Agent
  network    integer not null, -- a keyed hash of the network that first used the name; 0: unknown
  first_seen integer not null
) strict;
create index quotegate_clients_first_seen on quotegate_clients (first_seen, network);

-- What a client called on a day, by outcome.
create table quotegate_days (
  version        text    not null,
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
  position       real    not null, -- at the last call: its place in the order of brownouts
  exempt         integer not null, -- at the last call: 1 if no brownout of the plan refused it
  primary key (version, client, day)
) without rowid, strict;
create index quotegate_days_day on quotegate_days
  (version, day, client, served, brownout, retired, failed, proven, hours);

-- What the current version would have answered to calls that were served, on the last day
-- on which it would have answered so.
create table quotegate_findings (
  version text    not null,
  client  integer not null,
  day     integer not null,
  finding text    not null,
  code    text    not null,
  param   text    not null,
  calls   integer not null,
  primary key (version, client, finding, code, param)
) without rowid, strict;

-- All calls by hour. unnamed are those that count under no client.
create table quotegate_totals (
  hour    integer not null,
  version text    not null,
  outcome text    not null,
  calls   integer not null,
  unnamed integer not null,
  primary key (hour, version, outcome)
) without rowid, strict;

-- One row for each run of the service. Every call before written is in the database, as of
-- the batch with this number. stopped is 0 until the run ends: at its last write or, if an
-- operator has said that it will not come back, when it may have answered its last call.
create table quotegate_instances (
  instance text    primary key,
  host     text    not null,
  plan     text    not null, -- a hash of the plan it follows; "?" until it follows one
  batch    integer not null,
  started  integer not null,
  written  integer not null,
  stopped  integer not null
) without rowid, strict;

-- When calls were answered and are not counted, nobody knows how many.
create table quotegate_gaps (
  instance text    not null,
  began    integer not null,
  ended    integer not null,
  reason   text    not null
) strict;

-- Gates that have let a sunset pass. entry is a hash of the sunset and the gate in the plan.
create table quotegate_releases (
  version  text    not null,
  sunset   integer not null,
  entry    text    not null,
  released integer not null,
  primary key (version, sunset, entry)
) without rowid, strict;

-- name: made
select count(*) from sqlite_master where type = 'table' and name = 'quotegate_meta';

-- name: size
select (page_count - freelist_count) * page_size from pragma_page_count, pragma_freelist_count, pragma_page_size;

-- name: facts
select name, value from quotegate_meta;

-- name: put fact
insert into quotegate_meta (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value;

-- name: next batch
update quotegate_instances set batch = $1, written = $2, plan = $3, stopped = 0, started = min(started, $2)
where instance = $4 and batch = $1 - 1;

-- name: last batch
-- The last batch of an instance and when it was written; without one, when any was last written.
select coalesce(max(batch) filter (where instance = $1), 0),
  coalesce(max(written) filter (where instance = $1), max(written), 0)
from quotegate_instances;

-- name: put instance
insert into quotegate_instances (instance, host, plan, batch, started, written, stopped)
values ($1, $2, $3, $4, $5, $6, 0)
on conflict (instance) do update set
  plan = excluded.plan, batch = excluded.batch, written = excluded.written, stopped = 0;

-- name: stop
update quotegate_instances set stopped = max(written, $2) where instance = $1;

-- name: runs
select instance, host, plan, started, written, stopped from quotegate_instances
where stopped = 0 or stopped >= $1 order by host, started, instance;

-- name: put gap
insert into quotegate_gaps (instance, began, ended, reason) values ($1, $2, $3, $4);

-- name: end gaps
update quotegate_gaps set ended = $1 where instance = $2 and began <= $1 and ended > $1;

-- name: gaps
select g.instance, coalesce(i.host, ''), began, ended, reason
from quotegate_gaps as g left join quotegate_instances as i on i.instance = g.instance
order by ended desc, began desc;

-- name: among
select id from quotegate_clients where id in (select value from json_each($1));

-- name: new names
select network, count(*) from quotegate_clients where first_seen >= $1 and kind <> 'client' group by network;

-- name: put client
insert into quotegate_clients as c (id, name, kind, software, network, first_seen) values ($1, $2, $3, $4, $5, $6)
on conflict (id) do update set software = excluded.software
where excluded.software <> '' and excluded.software <> c.software;

-- name: put day
insert into quotegate_days as d (version, client, day, served, brownout, retired, rehearsed, failed,
  hours, last, last_410, last_rehearsal, proven, position, exempt)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
on conflict (version, client, day) do update set
  served = d.served + excluded.served, brownout = d.brownout + excluded.brownout,
  retired = d.retired + excluded.retired, rehearsed = d.rehearsed + excluded.rehearsed,
  failed = d.failed + excluded.failed, hours = d.hours | excluded.hours, last = max(d.last, excluded.last),
  last_410 = max(d.last_410, excluded.last_410), last_rehearsal = max(d.last_rehearsal, excluded.last_rehearsal),
  proven = d.proven + excluded.proven, position = excluded.position, exempt = excluded.exempt;

-- name: put finding
insert into quotegate_findings as f (version, client, day, finding, code, param, calls)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (version, client, finding, code, param) do update set
  day = max(f.day, excluded.day),
  calls = case when excluded.day > f.day then excluded.calls
    when excluded.day = f.day then f.calls + excluded.calls else f.calls end;

-- name: put total
insert into quotegate_totals as t (hour, version, outcome, calls, unnamed) values ($1, $2, $3, $4, $5)
on conflict (hour, version, outcome) do update set
  calls = t.calls + excluded.calls, unnamed = t.unnamed + excluded.unnamed;

-- name: oldest day
select coalesce(min(first), -1) from
  (select (select min(day) from quotegate_days where version = v.version) as first
  from (select distinct version from quotegate_totals) as v) as f;

-- name: delete names
-- Days are found by their index, with the versions of which there may be counts.
delete from quotegate_clients where id in
  (select client from quotegate_days where day < $1 and version in (select distinct version from quotegate_totals))
and not exists
  (select 1 from quotegate_days where client = id and day >= $1
  and version in (select distinct version from quotegate_totals));

-- name: delete days
delete from quotegate_days where day < $1 and version in (select distinct version from quotegate_totals);

-- name: delete findings
delete from quotegate_findings where day < $1;

-- name: delete totals
delete from quotegate_totals where hour < $1;

-- name: delete gaps
delete from quotegate_gaps where ended < $1;

-- name: delete instances
delete from quotegate_instances where written < $1;

-- name: released
select released from quotegate_releases where version = $1 and sunset = $2 and entry = $3;

-- name: release
insert into quotegate_releases (version, sunset, entry, released) values ($1, $2, $3, $4) on conflict do nothing;

-- name: totals
select version, outcome, hour / 86400 as day, sum(calls), sum(unnamed) from quotegate_totals
where hour >= $1 and hour < $2 group by version, outcome, day;

-- name: traffic
-- Calls and clients since three times, each the begin of an hour, until now.
select calls.*, clients.* from
  (select coalesce(sum(calls) filter (where hour >= $3), 0), coalesce(sum(calls) filter (where hour >= $4), 0),
    coalesce(sum(calls), 0)
  from quotegate_totals
  where hour >= $5 and hour <= $2 and version = $1 and outcome in ('served', 'brownout')) as calls,
  (select coalesce(sum(in_hour), 0), coalesce(sum(in_day), 0), coalesce(sum(in_week), 0) from
    (select max(day > $3 / 86400 or day = $3 / 86400 and hours >> ($3 % 86400 / 3600) <> 0) as in_hour,
      max(day > $4 / 86400 or day = $4 / 86400 and hours >> ($4 % 86400 / 3600) <> 0) as in_day,
      max(day > $5 / 86400 or day = $5 / 86400 and hours >> ($5 % 86400 / 3600) <> 0) as in_week
    from quotegate_days where version = $1 and day >= $5 / 86400 and day <= $2 / 86400 and hours <> 0
    group by client)) as clients;

-- name: clients by day
select day, count(*) from quotegate_days
where version = $1 and day >= $2 and day <= $3 and served + brownout + retired > 0 group by day;

-- name: names
select id, name, kind, software, first_seen from quotegate_clients;

-- name: activities
-- The plus keeps SQLite from looking up every row by its day, and the left join from
-- reading all days once more.
select u.client, u.calls7, u.calls30, u.calls90, u.failed,
  u.proven, u.claimed, u.last, u.last_served, u.last_used, u.last_proven, u.last_410, u.last_rehearsal, u.day,
  d.position, d.exempt
from (select client, max(day) as day, max(last) as last, max(failed) as failed,
    coalesce(max(last) filter (where served > 0), 0) as last_served,
    coalesce(max(day) filter (where served + brownout > 0), 0) as last_used,
    coalesce(max(day) filter (where proven > 0), 0) as last_proven, sum(proven) as proven,
    sum(served + brownout + retired + rehearsed + failed - proven) as claimed,
    max(last_410) as last_410, max(last_rehearsal) as last_rehearsal,
    coalesce(sum(served + brownout + retired) filter (where day >= $4), 0) as calls7,
    coalesce(sum(served + brownout + retired) filter (where day >= $5), 0) as calls30,
    sum(served + brownout + retired) as calls90
  from quotegate_days where version = $1 and +day >= $2 and +day <= $3 group by client) as u
left join quotegate_days as d on d.version = $1 and d.client = u.client and d.day = u.day;

-- name: days
select client, day, served + brownout + retired from quotegate_days
where version = $1 and day >= $2 and day <= $3 and served + brownout + retired > 0
and client in (select value from json_each($4)) order by client, day;

-- name: findings
select client, day, finding, code, param, calls from quotegate_findings where version = $1;

-- name: findings of
select client, day, finding, code, param, calls from quotegate_findings where version = $1 and client = $2;

-- name: calls of
select client, day, served + brownout, proven from quotegate_days
where version = $1 and day >= $2 and served + brownout > 0 and client in (select value from json_each($3));

-- name: uses
select client, day, served + brownout > 0, proven > 0 from quotegate_days
where version = $1 and +day >= $2 and +day <= $3 and (served + brownout > 0 or proven > 0) order by client, day;

-- name: last served
select coalesce(max(last), 0) from quotegate_days where version = $1 and client = $2 and served > 0;

-- name: own days
select day, served, brownout + retired, failed, last from quotegate_days
where version = $1 and client = $2 and day >= $3 and served + brownout + retired + failed > 0 order by day;

-- name: copy
vacuum into $1;
