-- All statements of a PostgreSQL database, by name; those of SQLite have the same names. Rows
-- that are written come as one list for each column, and are written in order, so that
-- instances that write the same rows at once do not deadlock.
-- Times are Unix seconds and days Unix days, both in UTC. Rows are added to, and nothing
-- that can be worked out from them is stored.

-- name: make
-- What the database says about itself: the number of this schema, when counting began, the
-- secret under which names and addresses are hashed, and the plan that was last accepted.
create table quotegate_meta (
  name  text primary key,
  value text not null
);

-- Every client that was counted under its own name. The id is a keyed hash of the name,
-- so that it is the same on every instance and after a restore.
create table quotegate_clients (
  id         bigint  primary key,
  name       text    not null,
  kind       text    not null, -- the first word of the name: client, integrator, origin, agent
  software   text    not null, -- the product of the last User-Agent
  network    bigint  not null, -- a keyed hash of the network that first used the name; 0: unknown
  first_seen bigint  not null
);
create index quotegate_clients_first_seen on quotegate_clients (first_seen, network);

-- What a client called on a day, by outcome.
create table quotegate_days (
  version        text    not null,
  client         bigint  not null,
  day            bigint  not null,
  served         bigint  not null,
  brownout       bigint  not null, -- refused by a brownout
  retired        bigint  not null, -- refused because the version is retired
  rehearsed      bigint  not null, -- refused because the client asked for a rehearsal
  failed         bigint  not null, -- any other error
  hours          bigint  not null, -- a bit for each hour with calls that were served or that a brownout refused
  last           bigint  not null, -- the last call that was served, or refused by a brownout or the sunset; 0: none
  last_410       bigint  not null, -- the last that was refused by a brownout or the sunset; 0: none
  last_rehearsal bigint  not null, -- 0: none
  proven         bigint  not null, -- calls with a key
  position       double precision not null, -- at the last call: its place in the order of brownouts
  exempt         bigint  not null, -- at the last call: 1 if no brownout of the plan refused it
  primary key (version, client, day)
);
create index quotegate_days_day on quotegate_days
  (version, day, client, served, brownout, retired, failed, proven, hours);

-- What the current version would have answered to calls that were served, on the last day
-- on which it would have answered so.
create table quotegate_findings (
  version text    not null,
  client  bigint  not null,
  day     bigint  not null,
  finding text    not null,
  code    text    not null,
  param   text    not null,
  calls   bigint  not null,
  primary key (version, client, finding, code, param)
);

-- All calls by hour. unnamed are those that count under no client.
create table quotegate_totals (
  hour    bigint  not null,
  version text    not null,
  outcome text    not null,
  calls   bigint  not null,
  unnamed bigint  not null,
  primary key (hour, version, outcome)
);

-- One row for each run of the service. Every call before written is in the database, as of
-- the batch with this number. stopped is 0 until the run ends: at its last write or, if an
-- operator has said that it will not come back, when it may have answered its last call.
create table quotegate_instances (
  instance text    primary key,
  host     text    not null,
  plan     text    not null, -- a hash of the plan it follows; "?" until it follows one
  batch    bigint  not null,
  started  bigint  not null,
  written  bigint  not null,
  stopped  bigint  not null
);

-- When calls were answered and are not counted, nobody knows how many.
create table quotegate_gaps (
  instance text    not null,
  began    bigint  not null,
  ended    bigint  not null,
  reason   text    not null
);

-- Gates that have let a sunset pass. entry is a hash of the sunset and the gate in the plan.
create table quotegate_releases (
  version  text    not null,
  sunset   bigint  not null,
  entry    text    not null,
  released bigint  not null,
  primary key (version, sunset, entry)
);

-- name: made
-- to_regclass would not see a table that another instance has made since it was last asked in
-- the same transaction.
select count(*) from pg_tables where tablename = 'quotegate_meta' and schemaname = any(current_schemas(false));

-- name: now
select now();

-- name: lock counting
-- Counts are written while nobody deletes clients. The lock lasts until the transaction ends.
select pg_advisory_xact_lock_shared(7106202);

-- name: lock alone
-- Nobody writes counts meanwhile. Without it, a name might be deleted that is being written to.
select pg_advisory_xact_lock(7106202);

-- name: rights
select coalesce(has_schema_privilege(current_schema(), 'create'), false)
  and coalesce(has_table_privilege(to_regclass('quotegate_days')::oid, 'insert, update, delete'), true);

-- name: size
-- PostgreSQL keeps the room of deleted rows, so the size is estimated from the number of rows.
select coalesce(sum(n_live_tup) * 300, 0)::bigint from pg_stat_user_tables
where schemaname = current_schema() and relname like 'quotegate\_%';

-- name: facts
select name, value from quotegate_meta;

-- name: put fact
insert into quotegate_meta (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value;

-- name: next batch
update quotegate_instances set batch = $1, written = $2, plan = $3, stopped = 0, started = least(started, $2)
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
update quotegate_instances set stopped = greatest(written, $2) where instance = $1;

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
select id from quotegate_clients where id = any($1::bigint[]);

-- name: new names
select network, count(*) from quotegate_clients where first_seen >= $1 and kind <> 'client' group by network;

-- name: put client
insert into quotegate_clients as c (id, name, kind, software, network, first_seen)
select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
order by 1
on conflict (id) do update set software = excluded.software
where excluded.software <> '' and excluded.software <> c.software;

-- name: put day
insert into quotegate_days as d (version, client, day, served, brownout, retired, rehearsed, failed,
  hours, last, last_410, last_rehearsal, proven, position, exempt)
select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
  $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::float8[], $15::bigint[])
order by 1, 2, 3
on conflict (version, client, day) do update set
  served = d.served + excluded.served, brownout = d.brownout + excluded.brownout,
  retired = d.retired + excluded.retired, rehearsed = d.rehearsed + excluded.rehearsed,
  failed = d.failed + excluded.failed, hours = d.hours | excluded.hours, last = greatest(d.last, excluded.last),
  last_410 = greatest(d.last_410, excluded.last_410),
  last_rehearsal = greatest(d.last_rehearsal, excluded.last_rehearsal),
  proven = d.proven + excluded.proven, position = excluded.position, exempt = excluded.exempt;

-- name: put finding
insert into quotegate_findings as f (version, client, day, finding, code, param, calls)
select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[])
order by 1, 2, 4, 5, 6
on conflict (version, client, finding, code, param) do update set
  day = greatest(f.day, excluded.day),
  calls = case when excluded.day > f.day then excluded.calls
    when excluded.day = f.day then f.calls + excluded.calls else f.calls end;

-- name: put total
insert into quotegate_totals as t (hour, version, outcome, calls, unnamed)
select * from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
order by 1, 2, 3
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
select version, outcome, hour / 86400 as day, sum(calls)::bigint, sum(unnamed)::bigint from quotegate_totals
where hour >= $1 and hour < $2 group by version, outcome, day;

-- name: traffic
-- Calls and clients since three times, each the begin of an hour, until now.
select calls.*, clients.* from
  (select coalesce(sum(calls) filter (where hour >= $3), 0)::bigint,
    coalesce(sum(calls) filter (where hour >= $4), 0)::bigint,
    coalesce(sum(calls), 0)::bigint
  from quotegate_totals
  where hour >= $5 and hour <= $2 and version = $1 and outcome in ('served', 'brownout')) as calls,
  (select coalesce(sum(in_hour), 0), coalesce(sum(in_day), 0), coalesce(sum(in_week), 0) from
    (select bool_or(day > $3 / 86400 or day = $3 / 86400 and hours >> ($3 % 86400 / 3600)::int <> 0)::int as in_hour,
      bool_or(day > $4 / 86400 or day = $4 / 86400 and hours >> ($4 % 86400 / 3600)::int <> 0)::int as in_day,
      bool_or(day > $5 / 86400 or day = $5 / 86400 and hours >> ($5 % 86400 / 3600)::int <> 0)::int as in_week
    from quotegate_days where version = $1 and day >= $5 / 86400 and day <= $2 / 86400 and hours <> 0
    group by client) as c) as clients;

-- name: clients by day
select day, count(*) from quotegate_days
where version = $1 and day >= $2 and day <= $3 and served + brownout + retired > 0 group by day;

-- name: names
select id, name, kind, software, first_seen from quotegate_clients;

-- name: activities
-- The left join keeps it from reading all days once more.
select u.client, u.calls7, u.calls30, u.calls90, u.failed,
  u.proven, u.claimed, u.last, u.last_served, u.last_used, u.last_proven, u.last_410, u.last_rehearsal, u.day,
  d.position, d.exempt
from (select client, max(day) as day, max(last) as last, max(failed) as failed,
    coalesce(max(last) filter (where served > 0), 0) as last_served,
    coalesce(max(day) filter (where served + brownout > 0), 0) as last_used,
    coalesce(max(day) filter (where proven > 0), 0) as last_proven, sum(proven)::bigint as proven,
    sum(served + brownout + retired + rehearsed + failed - proven)::bigint as claimed,
    max(last_410) as last_410, max(last_rehearsal) as last_rehearsal,
    coalesce(sum(served + brownout + retired) filter (where day >= $4), 0)::bigint as calls7,
    coalesce(sum(served + brownout + retired) filter (where day >= $5), 0)::bigint as calls30,
    sum(served + brownout + retired)::bigint as calls90
  from quotegate_days where version = $1 and day >= $2 and day <= $3 group by client) as u
left join quotegate_days as d on d.version = $1 and d.client = u.client and d.day = u.day;

-- name: days
select client, day, served + brownout + retired from quotegate_days
where version = $1 and day >= $2 and day <= $3 and served + brownout + retired > 0
and client = any($4::bigint[]) order by client, day;

-- name: findings
select client, day, finding, code, param, calls from quotegate_findings where version = $1;

-- name: findings of
select client, day, finding, code, param, calls from quotegate_findings where version = $1 and client = $2;

-- name: calls of
select client, day, served + brownout, proven from quotegate_days
where version = $1 and day >= $2 and served + brownout > 0 and client = any($3::bigint[]);

-- name: uses
select client, day, served + brownout > 0, proven > 0 from quotegate_days
where version = $1 and day >= $2 and day <= $3 and (served + brownout > 0 or proven > 0) order by client, day;

-- name: last served
select coalesce(max(last), 0) from quotegate_days where version = $1 and client = $2 and served > 0;

-- name: own days
select day, served, brownout + retired, failed, last from quotegate_days
where version = $1 and client = $2 and day >= $3 and served + brownout + retired + failed > 0 order by day;
