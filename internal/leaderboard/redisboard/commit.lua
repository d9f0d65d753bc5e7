-- Applies one step to a generation: its writes and the state after them.
-- KEYS  1 state (hash), 2.. keys of the writes.
-- ARGV  1 expected version, 2 version after the step.
--       Then for each write: command, index of its key in KEYS, count n of arguments (at most 1000), n arguments.
-- Returns 1 if this run or an earlier run has applied the step.
-- Returns 0 and writes nothing if the version is another one.
-- A run that an error cuts short leaves the version "torn"; no later step applies to it.
local version = redis.call('HGET', KEYS[1], 'stamp')
if version == ARGV[2] then
  return 1
end
if version ~= ARGV[1] then
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
