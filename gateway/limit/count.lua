-- Counts a request in the log of a source, or refuses it.
-- KEYS: the log, a list of the microseconds at which requests were accepted.
-- ARGV: the window in microseconds, and the limit.
-- Returns 1 if accepted, the requests counted before, and the microseconds to wait.
local log, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local now = clock
local function entry(i) return tonumber(redis.call('LINDEX', log, i)) end

-- If the clock was set back, by a failover for instance, it stands still for this source
-- until it has caught up. If that would take longer than the window, the log is no use.
local newest = entry(-1)
if newest and newest - now > window then
  redis.call('DEL', log)
elseif newest then
  now = math.max(now, newest)
end

local used = redis.call('LLEN', log)
while used > 0 and now - entry(0) >= window do
  redis.call('LPOP', log)
  used = used - 1
end
-- There are more than the limit after the limit was lowered.
if used >= limit then return {0, used, entry(used - limit) + window - clock} end
redis.call('RPUSH', log, string.format('%.0f', now))
local oldest = entry(0) -- before PEXPIREAT, which deletes the log at once if the window is over already
-- At a time of day, and not after a duration: some versions of Redis count that from
-- the start of the script, which may be earlier than the time that was read above.
redis.call('PEXPIREAT', log, string.format('%.0f', math.ceil((now + window) / 1000)))
return {1, used, oldest + window - clock}
