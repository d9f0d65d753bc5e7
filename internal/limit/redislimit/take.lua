-- take: tokens of a bucket that all nodes share, as a generic cell rate algorithm:
-- the key holds when the bucket will be full.
-- KEYS 1: the bucket
-- ARGV 1: now, 2: the time in which a token comes back, 3: tokens of a full bucket,
--   4: tokens asked for, at most 3, 5: take, ask or charge
-- Returns how long until they are there, 0 where they are, and were taken unless only asked for;
-- of a charge, how long until the next one is there. Times are whole microseconds. A charge that
-- finds too few owes them, up to a bucket.
local now, interval, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local span = interval * tonumber(ARGV[3])
local full = tonumber(redis.call('GET', KEYS[1]) or now)
full = math.max(now, math.min(full, now + 2 * span))
local after = full + cost * interval
local wait = math.max(0, after - span - now)
if ARGV[5] == 'charge' then
  after = math.min(after, now + 2 * span)
  wait = math.max(0, after + interval - span - now)
end
if ARGV[5] == 'charge' or ARGV[5] == 'take' and wait == 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
end
return wait
