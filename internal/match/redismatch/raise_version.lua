-- Raises the version of a match for a write of a node. Runs in the transaction of that write.
-- KEYS  1 match (hash)
-- ARGV  1 the node
-- Returns the new version.
local version = redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('HSET', KEYS[1], 'w|' .. ARGV[1], version)
return version
