-- Lists a slice of the tickets with the ratings nearest to a given ticket. It
-- extends the life of the given ticket, even if that is already in a pairing. If the given ticket has
-- expired and its player has no other activity, it is added again. Other expired
-- tickets in the slice are removed. Then the search repeats, so that they take no place
-- of live tickets. It runs at most eight times.
-- KEYS  1 tickets (hash), 2 waiting (zset), 3 alive (zset), 4 busy (string)
-- ARGV  1 ticket id, 2 rating, 3 now (ms), 4 alive until (ms), 5 number
--       of tickets per side, 6 number to skip per side, 7 ticket (JSON),
--       8 time to live of busy (ms)
-- Returns the tickets (JSON) without the given one; nil if the given one does not wait
-- any more.
local tickets, waiting, alive_key, busy_key = unpack(KEYS, 1, 4)
local ticket_id, rating, now, alive_until, limit, offset, ticket, busy_ttl = unpack(ARGV, 1, 8)
if not redis.call('ZSCORE', waiting, ticket_id) then
  if redis.call('GET', busy_key) ~= 'ticket:' .. ticket_id then
    redis.call('ZADD', alive_key, 'XX', alive_until, ticket_id)
    return false
  end
  redis.call('HSET', tickets, ticket_id, ticket)
  redis.call('ZADD', waiting, rating, ticket_id)
end
redis.call('ZADD', alive_key, alive_until, ticket_id)
redis.call('PEXPIRE', busy_key, busy_ttl)
local near, expired = {}, true
for _ = 1, 8 do
  if not expired then break end
  near, expired = {}, false
  local ids = redis.call('ZRANGEBYSCORE', waiting, rating, '+inf', 'LIMIT', offset, limit)
  for _, id in ipairs(redis.call('ZREVRANGEBYSCORE', waiting, '(' .. rating, '-inf', 'LIMIT', offset, limit)) do
    ids[#ids + 1] = id
  end
  for _, id in ipairs(ids) do
    local alive = redis.call('ZSCORE', alive_key, id)
    if not alive or tonumber(alive) < tonumber(now) then
      expired = true
      redis.call('HDEL', tickets, id)
      redis.call('ZREM', waiting, id)
      redis.call('ZREM', alive_key, id)
    elseif id ~= ticket_id then
      near[#near + 1] = redis.call('HGET', tickets, id)
    end
  end
end
return near
