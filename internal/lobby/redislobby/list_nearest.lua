-- Lists a slice of the tickets with the ratings nearest to a given ticket. It also
-- extends the life of the given ticket, also in a pairing. If the given ticket has
-- expired and its player has no other activity, it is added again. Other expired
-- tickets in the slice are removed. Then the search repeats, so that they take no place
-- of live tickets. It runs at most eight times.
-- KEYS  1 tickets (hash), 2 waiting (zset), 3 alive (zset), 4 busy (string)
-- ARGV  1 ticket id, 2 rating, 3 now (ms), 4 alive until (ms), 5 number
--       of tickets per side, 6 number to skip per side, 7 ticket (JSON),
--       8 time to live of busy (ms)
-- Returns the tickets (JSON) without the given one; nil if the given one does not wait
-- any more.
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  if redis.call('GET', KEYS[4]) ~= 'ticket:' .. ARGV[1] then
    redis.call('ZADD', KEYS[3], 'XX', ARGV[4], ARGV[1])
    return false
  end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[7])
  redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
end
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
redis.call('PEXPIRE', KEYS[4], ARGV[8])
local near, expired = {}, true
for _ = 1, 8 do
  if not expired then break end
  near, expired = {}, false
  local ids = redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[2], '+inf', 'LIMIT', ARGV[6], ARGV[5])
  for _, id in ipairs(redis.call('ZREVRANGEBYSCORE', KEYS[2], '(' .. ARGV[2], '-inf', 'LIMIT', ARGV[6], ARGV[5])) do
    ids[#ids + 1] = id
  end
  for _, id in ipairs(ids) do
    local alive = redis.call('ZSCORE', KEYS[3], id)
    if not alive or tonumber(alive) < tonumber(ARGV[3]) then
      expired = true
      redis.call('HDEL', KEYS[1], id)
      redis.call('ZREM', KEYS[2], id)
      redis.call('ZREM', KEYS[3], id)
    elseif id ~= ARGV[1] then
      near[#near + 1] = redis.call('HGET', KEYS[1], id)
    end
  end
end
return near
