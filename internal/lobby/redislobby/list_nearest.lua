-- Lists a slice of the tickets nearest to one by rating, and keeps that one
-- alive, also in a pairing; where it has expired and its player has taken no
-- other, it comes back. Others that their nodes have let expire leave, and hide
-- nobody: who comes next is listed instead, until eight lists have held some.
-- KEYS  1 tickets (hash), 2 waiting (zset), 3 alive (zset), 4 busy (string)
-- ARGV  1 ticket id, 2 rating, 3 now (ms), 4 alive until (ms), 5 how many
--       either way, 6 how many to leave out either way, 7 ticket (JSON),
--       8 time to live of busy (ms)
-- Returns the tickets (JSON); nil where the one itself does not wait any more.
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
