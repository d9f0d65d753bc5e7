-- hold: a token of a bucket (see take) while it is not known whether it is spent.
-- KEYS 1: the bucket, 2: how many of its tokens are held
-- ARGV 1: now, 2: the time in which a token comes back, 3: tokens of a full bucket,
--   4: hold, give (back) or keep, 5: ms after which those held are taken for spent
-- Returns how long until there is one, 0 where it was there; -1 where there is none,
-- but others are held, which may come back at any time. Times are whole microseconds.
-- What is held has no place to refill, so that giving back restores what was, and no more.
local now, interval = tonumber(ARGV[1]), tonumber(ARGV[2])
local span = interval * tonumber(ARGV[3])
local held = tonumber(redis.call('GET', KEYS[2]) or 0)
local full = tonumber(redis.call('GET', KEYS[1]) or now)
full = math.max(now + held * interval, math.min(full, now + 2 * span))
if ARGV[4] == 'hold' then
  full = full + interval
  if full > now + span then
    return held > 0 and -1 or full - span - now
  end
  held = held + 1
elseif held > 0 then
  held = held - 1
  full = ARGV[4] == 'give' and full - interval or full
end
if full > now then
  redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
else
  redis.call('DEL', KEYS[1])
end
if held > 0 then
  redis.call('SET', KEYS[2], held, 'PX', ARGV[5])
else
  redis.call('DEL', KEYS[2])
end
return 0
