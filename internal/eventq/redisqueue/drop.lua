-- Drops the oldest items of a queue. Runs after pop.lua.
-- KEYS  1 due, 2 queue, 3 game, 4 seen (zset)
-- ARGV  1 game, 2 counter, 3 items at most, 4 items that stay (a limit: the one of an
--       operator takes precedence if it is above 0), 5 only items queued at this time or
--       earlier (ms), or ''
-- Returns how many items it dropped.
local state = redis.call('HMGET', KEYS[3], 'queued', 'max_len')
local length, stay = tonumber(state[1] or 0), tonumber(ARGV[4])
if stay > 0 then stay = tonumber(state[2] or stay) end
local n, position = math.min(tonumber(ARGV[3]), length - stay), 0
if n > 0 and ARGV[5] ~= '' then -- count the items that are old enough
  local most, bundle = n, redis.call('LINDEX', KEYS[2], 0)
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
    bundle = redis.call('LINDEX', KEYS[2], position)
  end
end
local field = ARGV[2]
if length > 0 and redis.call('EXISTS', KEYS[2]) == 0 then
  field, n = 'd:expired', length -- they vanished with the list
elseif n <= 0 then
  return 0
else
  local has_ids = redis.call('EXISTS', KEYS[4]) == 1
  for _, bundle in ipairs(pop(KEYS[2], n)) do
    for id in string.gmatch(has_ids and bundle or '', '\n%d+ %-?%d+ u (%S+)') do
      redis.call('ZREM', KEYS[4], id)
    end
  end
end
redis.call('HINCRBY', KEYS[3], field, n)
if redis.call('HINCRBY', KEYS[3], 'queued', -n) == 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return field == ARGV[2] and n or 0
