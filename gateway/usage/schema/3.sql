-- Fills the tables of 2.sql, once the clients have numbers.
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

-- The plan that an instance follows, and the machine it runs on.
alter table usage_instances add column plan text not null default '';
alter table usage_instances add column host text not null default '';

-- Gates that have let a sunset pass.
create table usage_releases (
  version  text   not null,
  sunset   bigint not null,
  released bigint not null,
  primary key (version, sunset)
);
