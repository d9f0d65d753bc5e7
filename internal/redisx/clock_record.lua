-- Keeps the newest cluster time that a node has told. It is only replaced by a
-- later one, unless it is over 30 s old or from the master's future.
-- KEYS 1: string "TOLD AT": cluster time and the master's time then, in µs
-- ARGV 1: cluster time at the caller in µs, 0 if it has none yet; 2: the
--      master's time then, in µs; 3: time to live of the key in ms
-- Returns {TOLD, AT} as they were, '' each where there was none.
local told, at = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
local age = at and tonumber(ARGV[2]) - at or 0
if ARGV[1] ~= '0' and (not told or tonumber(ARGV[1]) > tonumber(told) or age > 30000000 or age < 0) then
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2], 'PX', ARGV[3])
end
return {told or '', at or ''}
