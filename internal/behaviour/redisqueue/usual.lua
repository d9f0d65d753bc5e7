-- The usual push, with as few calls as that takes: of the server's own, to a
-- queue that has items and room, and was kept alive just now, so that nothing
-- else changes. The first piece of a push, those after it do all others.
-- KEYS  as of fresh.lua
-- ARGV  as of fresh.lua
-- Returns the verdict of push.lua where the push is usual.
do
  local game = redis.call('HMGET', KEYS[2], 'queued', 'max_len', 'kept_at', 'offered')
  local had, batch = tonumber(game[1] or 0), tonumber(ARGV[3])
  local after = had + tonumber(ARGV[10])
  local age = tonumber(ARGV[2]) - tonumber(game[3] or 0)
  local bundles = 2 * tonumber(ARGV[14])
  if had > 0 and after <= tonumber(game[2] or ARGV[7]) and (had >= batch or after < batch)
    and age >= 0 and age < 1000 and bundles > 0 and #ARGV == 15 + bundles then
    local verdict = ARGV[10] .. ' 0 0 ' .. after
    local before = redis.call('SET', KEYS[6], verdict, 'NX', 'GET', 'PX', ARGV[13])
    if before then
      return before
    end
    if redis.call('RPUSHX', KEYS[1], unpack(ARGV, 15, 14 + bundles)) > 0 then
      redis.call('HSET', KEYS[2], 'queued', after, 'offered', tonumber(game[4]) + ARGV[10])
      redis.call('HINCRBY', KEYS[4], 'offered', ARGV[10])
      return verdict
    end
    redis.call('DEL', KEYS[6]) -- the list has vanished
  end
end
