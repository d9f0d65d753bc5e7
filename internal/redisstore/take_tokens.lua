-- Takes tokens of a bucket that all nodes share, with the generic cell rate algorithm:
-- the key stores the time when the bucket will be full.
-- KEYS  1 bucket
-- ARGV  1 now, 2 time per token, 3 tokens of a full bucket, 4 tokens to take (at most ARGV 3),
--       5 mode: take, check (takes nothing) or charge (takes tokens even if they are missing)
-- Returns the time until the tokens are available, 0 if they are. For a charge: the time
-- until the next token is available. Times are whole microseconds. After a charge the
-- bucket has a debt of at most a full bucket.
-- Example: 3 tokens, 1 per second. Take 2: 0. Take 2: one second. Take 1: 0.
local bucket, mode = KEYS[1], ARGV[5]
local now, interval, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local capacity = interval * tonumber(ARGV[3])
local full_at = tonumber(redis.call('GET', bucket) or now)
full_at = math.max(now, math.min(full_at, now + 2 * capacity))
local full_after = full_at + cost * interval
local wait = math.max(0, full_after - capacity - now)
if mode == 'charge' then
  full_after = math.min(full_after, now + 2 * capacity)
  wait = math.max(0, full_after + interval - capacity - now)
end
if mode == 'charge' or mode == 'take' and wait == 0 then
  redis.call('SET', bucket, string.format('%.0f', full_after), 'PX', math.ceil((full_after - now) / 1000))
end
return wait
