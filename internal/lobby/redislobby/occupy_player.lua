-- Records that a player is in a match that needs no ticket.
-- KEYS  1 busy (string), 2 tickets (hash), 3 waiting (zset), 4 alive (zset),
--       5 pairings (hash)
-- ARGV  1 match id, 2 former match that does not count, '' for none,
--       3 now (ms), 4 time to live of busy (ms)
-- Returns '' if the player is in the match now, else the value of busy. An expired
-- ticket in busy does not count and is removed. The former match counts while it is in
-- a pairing, because it does not exist yet.
local new_busy, former_busy = 'match:' .. ARGV[1], 'match:' .. ARGV[2]
local busy = redis.call('GET', KEYS[1])
local is_stale = busy == former_busy and redis.call('HEXISTS', KEYS[5], ARGV[2]) == 0
if busy and busy ~= new_busy and not is_stale then
  local id = string.match(busy, '^ticket:(.*)')
  local alive = id and redis.call('ZSCORE', KEYS[4], id)
  if not id or (alive and tonumber(alive) >= tonumber(ARGV[3])) then
    return busy
  end
  redis.call('HDEL', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[4], id)
end
redis.call('SET', KEYS[1], new_busy, 'PX', ARGV[4])
return ''
