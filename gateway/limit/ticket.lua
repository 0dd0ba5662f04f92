-- Keeps the times from which on a client may ask again about a subject.
-- KEYS: one list of microseconds, below 0 if the subject may be invented.
-- ARGV: how much earlier is still on time; and to add a time, how far away it is, 1 or
-- -1, and how many times the list may have.
-- Without a time to add it takes out one that has come: 1, -1, or 0 if there is none.
local list, early = KEYS[1], tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

if ARGV[2] then
  local due = now + ARGV[2]
  redis.call('RPUSH', list, string.format('%.0f', due * ARGV[3]))
  redis.call('LTRIM', list, -ARGV[4], -1)
  -- Who comes later than that asks for the first time.
  redis.call('PEXPIREAT', list, string.format('%.0f', due / 1000 + 300000))
  return 1
end
for _, text in ipairs(redis.call('LRANGE', list, 0, -1)) do
  local due = tonumber(text)
  if due and math.abs(due) <= now + early then
    redis.call('LREM', list, 1, text)
    return due > 0 and 1 or -1
  end
end
return 0
