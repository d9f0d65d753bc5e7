-- Adds a ticket, unless its player has another ticket or is in a match.
-- KEYS  1 busy (string), 2 tickets (hash), 3 waiting (zset), 4 alive (zset)
-- ARGV  1 ticket id, 2 ticket (JSON), 3 rating, 4 now (ms), 5 alive until (ms),
--       6 former value of busy that does not count, '' for none,
--       7 time to live of busy (ms)
-- Returns {number of waiting tickets, ''}, or {0, value of busy} if the ticket was not
-- added. An expired ticket in busy does not count and is removed.
local new_busy = 'ticket:' .. ARGV[1]
local busy = redis.call('GET', KEYS[1])
if busy and busy ~= ARGV[6] and busy ~= new_busy then
  local id = string.match(busy, '^ticket:(.*)')
  local alive = id and redis.call('ZSCORE', KEYS[4], id)
  if not id or (alive and tonumber(alive) >= tonumber(ARGV[4])) then
    return {0, busy}
  end
  redis.call('HDEL', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[4], id)
end
redis.call('SET', KEYS[1], new_busy, 'PX', ARGV[7])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[1])
redis.call('ZADD', KEYS[4], ARGV[5], ARGV[1])
return {redis.call('ZCARD', KEYS[3]), ''}
