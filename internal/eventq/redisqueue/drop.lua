-- Drops the oldest items of a queue. Runs after pop.lua.
-- KEYS  1 queue, 2 game, 3 seen (zset)
-- ARGV  1 counter, 2 items at most, 3 items that stay (a limit: the one of an operator
--       takes precedence if it is above 0), 4 only items queued at this time or earlier
--       (ms), or 0
-- Returns how many items it dropped.
local state = redis.call('HMGET', KEYS[2], 'queued', 'max_len')
local length, stay = tonumber(state[1] or 0), tonumber(ARGV[3])
if stay > 0 then stay = tonumber(state[2] or stay) end
local n, position = math.min(tonumber(ARGV[2]), length - stay), 0
if n > 0 and ARGV[4] ~= '0' then -- count the items that are old enough
  local most, bundle = n, redis.call('LINDEX', KEYS[1], 0)
  n = 0
  while bundle and n < most do
    for queued_at in string.gmatch(bundle, '\n(%d+) ') do
      if tonumber(queued_at) > tonumber(ARGV[4]) or n == most then
        most = n
        break
      end
      n = n + 1
    end
    position = position + 1
    bundle = redis.call('LINDEX', KEYS[1], position)
  end
end
local field = ARGV[1]
if length > 0 and redis.call('EXISTS', KEYS[1]) == 0 then
  field, n = 'd:expired', length -- they vanished with the list
elseif n <= 0 then
  return 0
else
  local has_ids = redis.call('EXISTS', KEYS[3]) == 1
  for _, bundle in ipairs(pop(KEYS[1], n)) do
    for id in string.gmatch(has_ids and bundle or '', '\n%d+ %-?%d+ u (%S+)') do
      redis.call('ZREM', KEYS[3], id)
    end
  end
end
redis.call('HINCRBY', KEYS[2], field, n)
redis.call('HINCRBY', KEYS[2], 'queued', -n)
return field == ARGV[1] and n or 0
