-- Removes a pairing whose match will never be created. Its tickets wait again.
-- An expired ticket is removed, and its player is free.
-- KEYS  1 tickets (hash), 2 waiting (zset), 3 alive (zset), 4 pairings (hash),
--       5… busy (string) of each ticket's player
-- ARGV  1 match id, 2 now (ms), 3 time to live of busy (ms), 4… of each ticket
--       its id, rating and JSON, in the order of the busy keys
-- Returns 1 if the pairing existed, else 0.
local tickets, waiting, alive_key, pairings = unpack(KEYS, 1, 4)
local match_id, now, busy_ttl = unpack(ARGV, 1, 3)
if redis.call('HDEL', pairings, match_id) == 0 then
  return 0
end
for i = 5, #KEYS do
  local first_arg = 4 + 3 * (i - 5) -- index of the ticket's id in ARGV
  local id = ARGV[first_arg]
  local paired = redis.call('GET', KEYS[i]) == 'match:' .. match_id
  local alive = redis.call('ZSCORE', alive_key, id)
  if paired and alive and tonumber(alive) >= tonumber(now) then
    redis.call('HSET', tickets, id, ARGV[first_arg + 2])
    redis.call('ZADD', waiting, ARGV[first_arg + 1], id)
    redis.call('SET', KEYS[i], 'ticket:' .. id, 'PX', busy_ttl)
  else
    redis.call('ZREM', alive_key, id)
    if paired then
      redis.call('DEL', KEYS[i])
    end
  end
end
return 1
