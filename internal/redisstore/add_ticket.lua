-- Adds a ticket, unless its player has another ticket or is in a match.
-- KEYS  1 busy (string), 2 tickets (hash), 3 waiting (zset), 4 alive (zset)
-- ARGV  1 ticket id, 2 ticket (JSON), 3 rating, 4 now (ms), 5 alive until (ms),
--       6 former value of busy that does not count, '' for none,
--       7 time to live of busy (ms)
-- Returns {number of waiting tickets, ''}, or {0, value of busy} if the ticket was not
-- added. An expired ticket in busy does not count and is removed.
local busy_key, tickets, waiting, alive_key = unpack(KEYS, 1, 4)
local ticket_id, ticket, rating, now, alive_until, ignored_busy, busy_ttl = unpack(ARGV, 1, 7)
local new_busy = 'ticket:' .. ticket_id
local busy = redis.call('GET', busy_key)
if busy and busy ~= ignored_busy and busy ~= new_busy then
  local id = string.match(busy, '^ticket:(.*)')
  local alive = id and redis.call('ZSCORE', alive_key, id)
  if not id or (alive and tonumber(alive) >= tonumber(now)) then
    return {0, busy}
  end
  redis.call('HDEL', tickets, id)
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', alive_key, id)
end
redis.call('SET', busy_key, new_busy, 'PX', busy_ttl)
redis.call('HSET', tickets, ticket_id, ticket)
redis.call('ZADD', waiting, rating, ticket_id)
redis.call('ZADD', alive_key, alive_until, ticket_id)
return {redis.call('ZCARD', waiting), ''}
