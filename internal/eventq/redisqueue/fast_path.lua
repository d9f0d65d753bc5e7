-- The fast path of a push, with few calls of Redis. It is for items that are not
-- unique, and for queues that have items and room and were kept alive within the
-- last second. Then a push changes nothing but the list and two counters.
-- KEYS  none of its own
-- ARGV  none of its own
-- Returns nothing.

-- Pushes n items, whose bundles are ARGV[from] to ARGV[to]. queue and state are
-- keys. Returns the verdict of push.lua, or nil if the fast path is not possible
-- and nothing has changed.
local function push_fast(queue, state, n, policy, from, to)
  local game = redis.call('HMGET', state, 'queued', 'max_len', 'kept_at', 'offered')
  local before = tonumber(game[1] or 0)
  local after, age = before + n, policy.now - tonumber(game[3] or 0)
  if before == 0 or after > tonumber(game[2] or policy.max_len) or before < policy.batch_size and after >= policy.batch_size
    or age < 0 or age >= 1000 or redis.call('RPUSHX', queue, unpack(ARGV, from, to)) == 0 then
    return nil
  end
  redis.call('HSET', state, 'queued', after, 'offered', tonumber(game[4]) + n)
  return n .. ' 0 0 ' .. after
end

-- Returns the verdict of a push that was made before: it is the last push of its
-- process to the game, or an earlier one. Ids sort in the order of the pushes.
local function repeated_verdict(last_pushes, game, id)
  local last, verdict = string.match(redis.call('HGET', last_pushes, game) or '', '^(%S+) (.*)$')
  return last and last >= id and verdict
end
