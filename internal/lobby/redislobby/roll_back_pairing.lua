-- Removes a pairing whose match will never be created. Its tickets wait again.
-- An expired ticket is removed, and its player is free.
-- KEYS  1 tickets (hash), 2 waiting (zset), 3 alive (zset), 4 pairings (hash),
--       5… busy (string) of each ticket's player
-- ARGV  1 match id, 2 now (ms), 3 time to live of busy (ms), 4… of each ticket
--       its id, rating and JSON, in the order of the busy keys
-- Returns 1 if the pairing existed, else 0.
if redis.call('HDEL', KEYS[4], ARGV[1]) == 0 then
  return 0
end
for i = 5, #KEYS do
  local first_arg = 4 + 3 * (i - 5) -- index of the ticket's id in ARGV
  local id = ARGV[first_arg]
  local paired = redis.call('GET', KEYS[i]) == 'match:' .. ARGV[1]
  local alive = redis.call('ZSCORE', KEYS[3], id)
  if paired and alive and tonumber(alive) >= tonumber(ARGV[2]) then
    redis.call('HSET', KEYS[1], id, ARGV[first_arg + 2])
    redis.call('ZADD', KEYS[2], ARGV[first_arg + 1], id)
    redis.call('SET', KEYS[i], 'ticket:' .. id, 'PX', ARGV[3])
  else
    redis.call('ZREM', KEYS[3], id)
    if paired then
      redis.call('DEL', KEYS[i])
    end
  end
end
return 1
