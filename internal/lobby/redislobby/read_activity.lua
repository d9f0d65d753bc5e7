-- Reads a player's activity, and whether that is a match that does not exist yet.
-- KEYS  1 busy (string), 2 pairings (hash), 3 last duel (string)
-- ARGV  none
-- Returns {value of busy, '' for none; 1 if its match does not exist yet, else 0;
-- id of the last duel, '' if there is none or it is settled}
local busy = redis.call('GET', KEYS[1]) or ''
local match = string.match(busy, '^match:(.*)')
return {busy, match and redis.call('HEXISTS', KEYS[2], match) or 0, redis.call('GET', KEYS[3]) or ''}
