-- A game's queue as it stands. After counts.lua, before whatever moves it.
-- KEYS  1 queue (list), 2 game (hash), 3 due (zset), 4 total (hash), 5 seen (zset)
-- ARGV  1 game, 2 now (ms)
-- Returns nothing. What has vanished with the list is counted here. Pieces after
-- this one keep length true, and end with save where they change anything.
local now = tonumber(ARGV[2])
local game = redis.call('HMGET', KEYS[2], 'queued', 'paused', 'cool_until', 'hurried', 'tokens', 'tokens_at', 'max_len', 'kept_at')
local queued = tonumber(game[1] or 0)
local changes = {}

local first = queued > 0 and redis.call('LINDEX', KEYS[1], 0) -- head of the oldest bundle, where it was read
if queued > 0 and not first then
  count('d:expired', queued)
  redis.call('HSET', KEYS[2], 'queued', 0)
  redis.call('ZREM', KEYS[3], ARGV[1])
  queued = 0
end
local length = queued

-- Notes a field of the game for save.
local function write(field, value)
  changes[#changes + 1] = field
  changes[#changes + 1] = value
end

-- Writes what has changed of the game, in one call.
local function save()
  if length ~= queued then
    write('queued', length)
  end
  if #changes > 0 then
    redis.call('HSET', KEYS[2], unpack(changes))
  end
end
