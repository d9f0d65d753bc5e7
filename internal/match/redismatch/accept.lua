-- Accepts an answer: lock, record, totals, counters, and the deadline where it
-- is the last one. Between verdict.lua and what its mode does.
-- KEYS  as of verdict.lua
-- ARGV  as of verdict.lua
-- Returns nothing, but goes on with answered, version, and the player's score
-- and saved.
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[11])
redis.call('HSET', KEYS[3], field, ARGV[7])
local score, saved = tonumber(t[3] or 0) + ARGV[8], tonumber(t[4] or 0) + ARGV[10]
local sums = {
  'score|' .. ARGV[3], score, 'saved|' .. ARGV[3], saved, 'correct|' .. ARGV[3], tonumber(t[5] or 0) + ARGV[9],
  'answered|' .. ARGV[3], tonumber(t[6] or 0) + 1, 'latest|' .. ARGV[3], ARGV[4] + 1,
}
if ARGV[9] == '1' then
  sums[11], sums[12] = 'last|' .. ARGV[3], ARGV[4] + 1
end
redis.call('HSET', KEYS[4], unpack(sums))
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
