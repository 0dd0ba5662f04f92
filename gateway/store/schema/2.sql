-- When an instance was started, and up to when every call that it has answered is
-- written. Both are 0 for an instance of a release that does not say.
alter table usage_instances add column started bigint not null default 0;
alter table usage_instances add column complete bigint not null default 0;

-- The oldest schema of a service that may go on writing beside this one. A service
-- that runs while a later release migrates the database asks for it.
insert into usage_meta (name, value) values ('writers', '1') on conflict (name) do update set value = excluded.value;

-- When a client last got an error of its own: not a refusal by a brownout, by the
-- sunset or for a rehearsal. One that was never served only gets errors.
alter table usage_clients add column last_failed bigint not null default 0;
update usage_clients set last_failed = d.day * 86400
  from (select version, client, max(day) as day from usage_days where failed > 0 group by version, client) as d
  where usage_clients.version = d.version and usage_clients.client = d.client;

-- A keyed hash of the network and the software that last used a name; 0: unknown. A
-- client that leaves out its integrator ID has another name, and the same trace.
alter table usage_names add column trace bigint not null default 0;
create index usage_names_trace on usage_names (trace) where trace <> 0;
