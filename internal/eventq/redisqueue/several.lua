-- Makes pushes to several games, of items that are not taken once, those that
-- are usual. After usual.lua.
-- KEYS  1 total (hash), 2 pushed (hash), then for each its queue (list) and game
--       (hash)
-- ARGV  1 now (ms), 2 how long verdicts are kept (ms), then for each: game, id of
--       the push, number of items, items of a full batch, bound, number of bundles,
--       and they
-- Returns for each the verdict of push.lua, '' where it is not usual, and nothing
-- has changed.
local now, at = tonumber(ARGV[1]), 3
local verdicts, made, offered = {}, {}, 0
for i = 3, #KEYS, 2 do
  local game, id, n = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local till = at + 5 + 2 * tonumber(ARGV[at + 5])
  local verdict = answered(KEYS[2], game, id)
  if not verdict then
    local terms = {now = now, batch = tonumber(ARGV[at + 3]), bound = ARGV[at + 4]}
    verdict = usual(KEYS[i], KEYS[i + 1], n, terms, at + 6, till)
    if verdict then
      made[#made + 1] = game
      made[#made + 1] = id .. ' ' .. verdict
      offered = offered + n
    end
  end
  verdicts[#verdicts + 1] = verdict or ''
  at = till + 1
end
if offered > 0 then
  redis.call('HINCRBY', KEYS[1], 'offered', offered)
  redis.call('HSET', KEYS[2], unpack(made))
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return verdicts
