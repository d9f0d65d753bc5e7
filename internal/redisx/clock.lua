-- The time of the master that owns the key, which keeps the newest cluster time
-- that a node has told. It is only replaced by a later one, unless it is over
-- 30 s old or from the master's future.
-- KEYS 1: string "TOLD AT": cluster time and the master's time then, in µs
-- ARGV 1: cluster time at the caller in µs, 0 if it has none yet; 2: time to live
--      of the key in ms
-- Returns {Unix seconds, microseconds of the second, TOLD, AT as they were, ''
-- each where there was none}.
local now = redis.call('TIME')
local at = now[1] * 1000000 + now[2]
local told, told_at = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
local function replaces()
  local age = told and at - told_at
  return not told or tonumber(ARGV[1]) > tonumber(told) or age > 30000000 or age < 0
end
if ARGV[1] ~= '0' and replaces() then
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. string.format('%.0f', at), 'PX', ARGV[2])
end
return {now[1], now[2], told or '', told_at or ''}
