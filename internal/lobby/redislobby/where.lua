-- Says what a player is busy with, and whether that is a match still forming.
-- KEYS  1 busy (string), 2 pairings (hash)
-- ARGV  none
-- Returns {what, '' for nothing; 1 where its match is to be created, else 0}
local busy = redis.call('GET', KEYS[1]) or ''
local match = string.match(busy, '^match:(.*)')
return {busy, match and redis.call('HEXISTS', KEYS[2], match) or 0}
