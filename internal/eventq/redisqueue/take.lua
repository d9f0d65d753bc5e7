-- Moves the oldest items in flight, in batches. After terms.lua and deal.lua.
-- KEYS  6 taken (zset), then batches (lists), for as many at the most
-- ARGV  9 end of the lease (ms), 10 how long the batches are kept (ms), 11 lane,
--       then their ids
-- Returns {length, when the game is due or 0, bundles}: of all the batches, of
-- which only the last may not be full. What is in flight already is given again,
-- nothing where there is nothing to take, or it is settled. A batch is a head
-- 'COUNT PERMITTED' and its bundles.
local reply = {length, 0}
local function tell(bundles)
  for i = 1, #bundles do
    reply[#reply + 1] = bundles[i]
  end
end

if redis.call('EXISTS', unpack(KEYS, 7)) > 0 then
  for i = 7, #KEYS do
    tell(redis.call('LRANGE', KEYS[i], 1, -1))
  end
elseif length > 0 and not game[2] and free() <= now then
  local batches = math.min(#KEYS - 6, math.floor(length / batch))
  if per_second > 0 then
    batches = math.min(batches, math.floor(tokens / 1000))
  end
  batches = math.max(1, batches)
  local n = math.min(length, batches * batch)
  local bundles, taken = shift(n), {}
  tell(bundles)
  count('in_flight', n)
  local deal = dealer(bundles)
  for i = 1, batches do
    local size = math.min(batch, n)
    redis.call('RPUSH', KEYS[6 + i], size .. ' 0', unpack(deal(size)))
    redis.call('PEXPIRE', KEYS[6 + i], ARGV[10])
    taken[2 * i - 1], taken[2 * i] = ARGV[9], ARGV[11 + i] .. ' ' .. size .. ' ' .. ARGV[1]
    n = n - size
  end
  redis.call('ZADD', KEYS[6], unpack(taken))
  write('lane', ARGV[11])
  spend(batches)
  save()
end
reply[1], reply[2] = length, mark()
return reply
