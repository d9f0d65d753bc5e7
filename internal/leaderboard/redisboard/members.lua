-- Reads entries of a ranking by index, at one moment.
-- KEYS  1 ranking (sorted set), 2 entries (hash).
-- ARGV  1 first and 2 last index, from 0, of at most 1000 entries.
-- Returns a list of ids, and a list of their packed entries (nil: no entry).
local ranking, entries_key = KEYS[1], KEYS[2]
local first, last = ARGV[1], ARGV[2]
local ids, entries = {}, {}
for i, member in ipairs(redis.call('ZRANGE', ranking, first, last)) do
  ids[i] = string.sub(member, 18)
end
if #ids > 0 then
  entries = redis.call('HMGET', entries_key, unpack(ids))
end
return { ids, entries }
