-- The usual push, with as few calls as that takes: of items that are not taken
-- once, to a queue that has items and room, and was kept alive just now, so that
-- nothing else changes.
-- KEYS  none of its own
-- ARGV  none of its own
-- Returns nothing.

-- Pushes n items, which are bundles among the arguments; gives the verdict of
-- push.lua, or nil where the push is not usual, and nothing has changed. The queue
-- and the game are keys, t the terms.
local function usual(queue, state, n, t, from, till)
  local game = redis.call('HMGET', state, 'queued', 'max_len', 'kept_at', 'offered')
  local had = tonumber(game[1] or 0)
  local after, age = had + n, t.now - tonumber(game[3] or 0)
  if had == 0 or after > tonumber(game[2] or t.bound) or had < t.batch and after >= t.batch
    or age < 0 or age >= 1000 or redis.call('RPUSHX', queue, unpack(ARGV, from, till)) == 0 then
    return nil
  end
  redis.call('HSET', state, 'queued', after, 'offered', tonumber(game[4]) + n)
  return n .. ' 0 0 ' .. after
end

-- What was answered to a push, where that is the last of its process to the game
-- or was made before that one: ids sort as pushes are made.
local function answered(pushed, game, id)
  local last, verdict = string.match(redis.call('HGET', pushed, game) or '', '^(%S+) (.*)$')
  return last and last >= id and verdict
end
