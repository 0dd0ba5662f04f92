-- Counts a request in the log of each budget, or refuses it.
-- KEYS: the logs, lists of the microseconds at which requests were accepted.
-- ARGV: the window in microseconds, the highest limit there is, and the limit of each log.
-- Returns for each: 1 if accepted, the requests counted before, the microseconds to wait,
-- and the time at which it was counted, or 0.
local window, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stamp = string.format('%.0f', now)

-- What is not a number counts as a request of long ago. (A NaN is not equal to
-- itself.)
local function time_of(text)
  local at = tonumber(text)
  return at and at == at and at or 0
end

local function wait(at) return math.min(math.max(at + window - now, 1), window) end

local function take(log, limit)
  local function entry(i) return time_of(redis.call('LINDEX', log, i)) end

  -- A key that holds something else is replaced.
  local used = redis.pcall('LLEN', log)
  if type(used) ~= 'number' or used > most then
    redis.call('DEL', log)
    used = 0
  end

  -- If the clock was set back, requests in the future are moved to now. So the
  -- limit holds, and no client waits longer than the window.
  local oldest = used > 0 and entry(0) or now
  if used > 0 and (oldest > now or entry(-1) > now) then
    for i, at in ipairs(redis.call('LRANGE', log, 0, -1)) do
      if time_of(at) > now then redis.call('LSET', log, i - 1, stamp) end
    end
    oldest = entry(0)
  end

  while used > 0 and now - oldest >= window do
    redis.call('LPOP', log)
    used = used - 1
    oldest = used > 0 and entry(0) or now
  end

  -- There are more than the limit after the limit was lowered.
  if used >= limit then return 0, used, wait(entry(used - limit)), 0 end
  redis.call('RPUSH', log, stamp)
  -- At a time of day, and not after a duration: some versions of Redis count that from
  -- the start of the script, which may be earlier than the time that was read above.
  redis.call('PEXPIREAT', log, string.format('%.0f', math.ceil((now + window) / 1000)))
  return 1, used, wait(oldest), now
end

local results = {}
for i, log in ipairs(KEYS) do
  results[4 * i - 3], results[4 * i - 2], results[4 * i - 1], results[4 * i] = take(log, tonumber(ARGV[i + 2]))
end
return results
