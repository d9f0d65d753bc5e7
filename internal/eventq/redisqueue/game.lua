-- Reads the state of a game's queue. Runs after counts.lua, and before every part
-- that moves items.
-- KEYS  1 queue (list), 2 game (hash), 3 due (zset), 4 total (hash), 5 seen (zset)
-- ARGV  1 game, 2 now (ms)
-- Returns nothing. It counts items as expired that vanished with the list. Later
-- parts keep length correct, and call save_fields after a change.
local now = tonumber(ARGV[2])
local game = redis.call('HMGET', KEYS[2], 'queued', 'paused', 'cool_until', 'flush_before', 'tokens', 'tokens_at', 'max_len', 'kept_at')
local queued = tonumber(game[1] or 0)
local changes = {}

local oldest_header = queued > 0 and redis.call('LINDEX', KEYS[1], 0) -- of the oldest bundle; nil or false: not read
if queued > 0 and not oldest_header then
  count('d:expired', queued)
  redis.call('HSET', KEYS[2], 'queued', 0)
  redis.call('ZREM', KEYS[3], ARGV[1])
  queued = 0
end
local length = queued

-- Sets a field of the game when save_fields runs.
local function set_field(field, value)
  changes[#changes + 1] = field
  changes[#changes + 1] = value
end

-- Writes the changed fields of the game in one call.
local function save_fields()
  if length ~= queued then
    set_field('queued', length)
  end
  if #changes > 0 then
    redis.call('HSET', KEYS[2], unpack(changes))
  end
end
