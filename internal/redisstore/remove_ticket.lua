-- Removes a player's ticket.
-- KEYS  1 busy (string), 2 tickets (hash), 3 waiting (zset), 4 alive (zset)
-- ARGV  none
-- Returns the ticket's id, '' if the player has none.
local busy_key, tickets, waiting, alive = unpack(KEYS, 1, 4)
local busy = redis.call('GET', busy_key)
local id = busy and string.match(busy, '^ticket:(.*)')
if not id then
  return ''
end
redis.call('DEL', busy_key)
redis.call('HDEL', tickets, id)
redis.call('ZREM', waiting, id)
redis.call('ZREM', alive, id)
return id
