-- Removes a player's ticket.
-- KEYS  1 busy (string), 2 tickets (hash), 3 waiting (zset), 4 alive (zset)
-- ARGV  none
-- Returns the ticket's id, '' if the player has none.
local busy = redis.call('GET', KEYS[1])
local id = busy and string.match(busy, '^ticket:(.*)')
if not id then
  return ''
end
redis.call('DEL', KEYS[1])
redis.call('HDEL', KEYS[2], id)
redis.call('ZREM', KEYS[3], id)
redis.call('ZREM', KEYS[4], id)
return id
