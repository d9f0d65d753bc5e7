-- Moves the oldest items in flight, as batches. Runs after policy.lua and deal.lua.
-- KEYS  6 taken (zset), then the batches (lists) that it may fill
-- ARGV  9 end of the lease (ms), 10 time to live of the batches (ms), 11 worker pool,
--       then the ids of the batches
-- Returns {length, when the game is due or 0, bundles of all batches}. Only the last
-- batch may be smaller than a full one. A repeated run returns the same batches if
-- they are still in flight. There are no bundles if nothing could be taken. A batch
-- is a header 'COUNT ACQUIRED_AT' and its bundles.
local reply = {length, 0}
local function add_to_reply(bundles)
  for i = 1, #bundles do
    reply[#reply + 1] = bundles[i]
  end
end

if redis.call('EXISTS', unpack(KEYS, 7)) > 0 then
  for i = 7, #KEYS do
    add_to_reply(redis.call('LRANGE', KEYS[i], 1, -1))
  end
elseif length > 0 and not game[2] and next_attempt() <= now then
  local batches = math.min(#KEYS - 6, math.floor(length / batch_size))
  if per_second > 0 then
    batches = math.min(batches, math.floor(tokens / 1000))
  end
  batches = math.max(1, batches)
  local n = math.min(length, batches * batch_size)
  local bundles, taken = shift(n), {}
  add_to_reply(bundles)
  count('in_flight', n)
  local deal = new_dealer(bundles)
  for i = 1, batches do
    local size = math.min(batch_size, n)
    redis.call('RPUSH', KEYS[6 + i], size .. ' 0', unpack(deal(size)))
    redis.call('PEXPIRE', KEYS[6 + i], ARGV[10])
    taken[2 * i - 1], taken[2 * i] = ARGV[9], ARGV[11 + i] .. ' ' .. size .. ' ' .. ARGV[1]
    n = n - size
  end
  redis.call('ZADD', KEYS[6], unpack(taken))
  set_field('pool', ARGV[11])
  spend_tokens(batches)
  save_fields()
end
reply[1], reply[2] = length, mark_due()
return reply
