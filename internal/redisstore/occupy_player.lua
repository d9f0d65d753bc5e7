-- Records that a player is in a match that needs no ticket.
-- KEYS  1 busy (string), 2 tickets (hash), 3 waiting (zset), 4 alive (zset),
--       5 pairings (hash)
-- ARGV  1 match id, 2 former match that does not count, '' for none,
--       3 now (ms), 4 time to live of busy (ms)
-- Returns '' if the player is in the match now, else the value of busy. An expired
-- ticket in busy does not count and is removed. The former match counts while it is in
-- a pairing, because it does not exist yet.
local busy_key, tickets, waiting, alive_key, pairings = unpack(KEYS, 1, 5)
local match_id, former_match, now, busy_ttl = unpack(ARGV, 1, 4)
local new_busy, former_busy = 'match:' .. match_id, 'match:' .. former_match
local busy = redis.call('GET', busy_key)
local is_stale = busy == former_busy and redis.call('HEXISTS', pairings, former_match) == 0
if busy and busy ~= new_busy and not is_stale then
  local id = string.match(busy, '^ticket:(.*)')
  local alive = id and redis.call('ZSCORE', alive_key, id)
  if not id or (alive and tonumber(alive) >= tonumber(now)) then
    return busy
  end
  redis.call('HDEL', tickets, id)
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', alive_key, id)
end
redis.call('SET', busy_key, new_busy, 'PX', busy_ttl)
return ''
