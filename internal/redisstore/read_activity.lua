-- Reads a player's activity, and whether that is a match that does not exist yet.
-- KEYS  1 busy (string), 2 pairings (hash), 3 last duel (string)
-- ARGV  none
-- Returns {value of busy, '' for none; 1 if its match does not exist yet, else 0;
-- id of the last duel, '' if there is none or it is settled}
local busy_key, pairings, last_duel = unpack(KEYS, 1, 3)
local busy = redis.call('GET', busy_key) or ''
local match = string.match(busy, '^match:(.*)')
return {busy, match and redis.call('HEXISTS', pairings, match) or 0, redis.call('GET', last_duel) or ''}
