-- Drops the oldest items of a queue. Runs after pop.lua.
-- KEYS  1 due, 2 total, 3 queue, 4 game, 5 seen (zset), 6 reply (string)
-- ARGV  1 game, 2 counter, 3 items at most, 4 items that stay (a limit: the one of an
--       operator takes precedence if it is above 0), 5 only items queued at this time or
--       earlier (ms), or '', 6 time to live of the reply (ms)
-- Returns how many items it dropped; the same when it runs again.
local reply = redis.call('GET', KEYS[6])
if reply then
  return tonumber(reply)
end
local state = redis.call('HMGET', KEYS[4], 'queued', 'max_len')
local length, stay = tonumber(state[1] or 0), tonumber(ARGV[4])
if stay > 0 then stay = tonumber(state[2] or stay) end
local n, position = math.min(tonumber(ARGV[3]), length - stay), 0
if n > 0 and ARGV[5] ~= '' then -- count the items that are old enough
  local most, bundle = n, redis.call('LINDEX', KEYS[3], 0)
  n = 0
  while bundle and n < most do
    for queued_at in string.gmatch(bundle, '\n(%d+) ') do
      if tonumber(queued_at) > tonumber(ARGV[5]) or n == most then
        most = n
        break
      end
      n = n + 1
    end
    position = position + 1
    bundle = redis.call('LINDEX', KEYS[3], position)
  end
end
local field = ARGV[2]
if length > 0 and redis.call('EXISTS', KEYS[3]) == 0 then
  field, n = 'd:expired', length -- they vanished with the list
elseif n <= 0 then
  return 0
else
  local has_ids = redis.call('EXISTS', KEYS[5]) == 1
  for _, bundle in ipairs(pop(KEYS[3], n)) do
    for id in string.gmatch(has_ids and bundle or '', '\n%d+ %-?%d+ u (%S+)') do
      redis.call('ZREM', KEYS[5], id)
    end
  end
end
for _, key in ipairs({KEYS[4], KEYS[2]}) do redis.call('HINCRBY', key, field, n) end
if redis.call('HINCRBY', KEYS[4], 'queued', -n) == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
end
redis.call('SET', KEYS[6], field == ARGV[2] and n or 0, 'PX', ARGV[6])
return field == ARGV[2] and n or 0
