-- Counts a request in the log of a client, or refuses it.
-- KEYS[1]: the log, a list of the microseconds at which requests were accepted.
-- ARGV: the limit, and the window in microseconds.
-- Returns: 1 if accepted, the requests counted before, the microseconds to wait.
local log, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stamp = string.format('%.0f', now)

local function entry(i) return tonumber(redis.call('LINDEX', log, i)) end

-- If the clock was set back, requests in the future are moved to now. So the
-- limit holds, and no client waits longer than the window.
local newest = entry(-1)
if newest and newest > now then
  for i, at in ipairs(redis.call('LRANGE', log, 0, -1)) do
    if tonumber(at) > now then redis.call('LSET', log, i - 1, stamp) end
  end
end

local oldest = entry(0)
while oldest and now - oldest >= window do
  redis.call('LPOP', log)
  oldest = entry(0)
end

local used = redis.call('LLEN', log)
if used >= limit then
  -- There are more than the limit after the limit was lowered.
  return {0, used, entry(used - limit) + window - now}
end
redis.call('RPUSH', log, stamp)
redis.call('PEXPIRE', log, math.ceil(window / 1000))
return {1, used, (oldest or now) + window - now}
