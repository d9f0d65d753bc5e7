-- Reads entries of a ranking by index, at one moment.
-- KEYS  1 ranking (sorted set), 2 entries (hash).
-- ARGV  1 first and 2 last index, from 0, of at most 1000 entries.
-- Returns the ids and their packed entries (nil: no entry), alternately.
local ranking, entries_key = KEYS[1], KEYS[2]
local first, last = ARGV[1], ARGV[2]
local reply = {}
for i, member in ipairs(redis.call('ZRANGE', ranking, first, last)) do
  local id = string.sub(member, 18)
  reply[2 * i - 1], reply[2 * i] = id, redis.call('HGET', entries_key, id)
end
return reply
