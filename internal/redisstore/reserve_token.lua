-- Reserves a token of a bucket (see take.lua). A later call returns or spends the token.
-- KEYS  1 bucket: time when it will be full, 2 number of its reserved tokens
-- ARGV  1 now, 2 time per token, 3 tokens of a full bucket, 4 action: reserve, return
--       or spend, 5 time in ms after which reserved tokens count as spent
-- Returns 0 if it has reserved, returned or spent a token; otherwise the time until a
-- token is available, or -1 if all tokens are reserved and may be returned at any time.
-- Times are whole microseconds, except ARGV 5.
-- A reserved token does not refill, so that returning it restores the bucket exactly.
-- Example: 2 tokens, 1 per hour. Reserve twice: 0, 0. Reserve again: -1. Spend both:
-- the next reserve returns one hour.
local bucket, reserved_key, action, reserved_ttl = KEYS[1], KEYS[2], ARGV[4], ARGV[5]
local now, interval = tonumber(ARGV[1]), tonumber(ARGV[2])
local capacity = interval * tonumber(ARGV[3])
local reserved = tonumber(redis.call('GET', reserved_key) or 0)
local full_at = tonumber(redis.call('GET', bucket) or now)
full_at = math.max(now + reserved * interval, math.min(full_at, now + 2 * capacity))
if action == 'reserve' then
  full_at = full_at + interval
  if full_at > now + capacity then
    return reserved > 0 and -1 or full_at - capacity - now
  end
  reserved = reserved + 1
elseif reserved > 0 then
  reserved = reserved - 1
  full_at = action == 'return' and full_at - interval or full_at
end
if full_at > now then
  redis.call('SET', bucket, string.format('%.0f', full_at), 'PX', math.ceil((full_at - now) / 1000))
else
  redis.call('DEL', bucket)
end
if reserved > 0 then
  redis.call('SET', reserved_key, reserved, 'PX', reserved_ttl)
else
  redis.call('DEL', reserved_key)
end
return 0
