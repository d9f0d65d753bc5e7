-- Applies one step to a generation: its writes, and the state that they stand for.
-- KEYS  1 state (hash), 2.. what the writes touch
-- ARGV  1 stamp expected, 2 stamp to leave,
--       then for each write: command, index of its key in KEYS, count n of arguments (at most 1000), n arguments
-- Returns 1 when applied, now or by an earlier run of this very step; 0 when the stamp is another: nothing was written.
-- A run that an error cuts short leaves the stamp "torn", on which nothing builds.
local stamp = redis.call('HGET', KEYS[1], 'stamp')
if stamp == ARGV[2] then
  return 1
end
if stamp ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'stamp', 'torn')
local i = 3
while i <= #ARGV do
  local last = i + 2 + tonumber(ARGV[i + 2])
  redis.call(ARGV[i], KEYS[tonumber(ARGV[i + 1])], unpack(ARGV, i + 3, last))
  i = last + 1
end
redis.call('HSET', KEYS[1], 'stamp', ARGV[2])
return 1
