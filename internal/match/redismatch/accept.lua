-- Accepts an answer: lock, record, totals, counters, and the deadline where it
-- is the last one. Between verdict.lua and what its mode does.
-- KEYS  as of verdict.lua
-- ARGV  as of verdict.lua
-- Returns nothing, but goes on with answered, version, and the player's score
-- and saved. Sums are 'score correct answered saved last latest'.
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[11])
redis.call('HSET', KEYS[3], field, ARGV[7])
score, saved, last = score + ARGV[8], saved + ARGV[10], ARGV[9] == '1' and ARGV[4] + 1 or last + 0
redis.call('HSET', KEYS[4], ARGV[3],
  string.format('%.0f %.0f %.0f %.0f %.0f %.0f', score, correct + ARGV[9], count + 1, saved, last, ARGV[4] + 1))
local answered, version = m[5] + 1, m[7] + 1
redis.call('HSET', KEYS[1], 'answered', answered, 'right', m[9] + ARGV[9], 'version', version)
redis.call('HSET', KEYS[8], ARGV[1] .. '|v', version)
local ttl = answered == 1 and redis.call('PTTL', KEYS[1]) or 0
if ttl > 0 then -- the two may be new
  redis.call('PEXPIRE', KEYS[3], ttl)
  redis.call('PEXPIRE', KEYS[4], ttl)
end
if answered >= tonumber(m[6]) then
  redis.call('ZADD', KEYS[7], ARGV[5], ARGV[1])
end
