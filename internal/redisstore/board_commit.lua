-- Applies one transaction to a board set: its writes, and then the new version.
-- KEYS  1 state (hash), 2.. keys to which the writes apply.
-- ARGV  1 expected version, 2 version after the transaction.
--       Then for each write: command, index of its key in KEYS, count n of arguments (at most 1000), n arguments.
-- Returns 1 if this run or an earlier run has applied the transaction.
-- Returns 0 and writes nothing if the board set has another version.
-- If a write fails, the version stays "torn", to which no later transaction applies.
local state = KEYS[1]
local expected_version, new_version = ARGV[1], ARGV[2]
local version = redis.call('HGET', state, 'version')
if version == new_version then
  return 1
end
if version ~= expected_version then
  return 0
end
redis.call('HSET', state, 'version', 'torn')
local i = 3
while i <= #ARGV do
  local last = i + 2 + tonumber(ARGV[i + 2])
  redis.call(ARGV[i], KEYS[tonumber(ARGV[i + 1])], unpack(ARGV, i + 3, last))
  i = last + 1
end
redis.call('HSET', state, 'version', new_version)
return 1
