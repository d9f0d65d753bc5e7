-- Makes pushes to several games by the fast path. Runs after fast_path.lua.
-- KEYS  1 total (hash), 2 last pushes of the process (hash), then for each push:
--       queue (list), game (hash)
-- ARGV  1 now (ms), 2 time to live of the verdicts (ms), then for each push: game,
--       id of the push, number of items, items of a full batch, length limit,
--       number of bundles, the bundles
-- Returns for each push the verdict of push.lua, or '' if the fast path was not
-- possible and nothing has changed.
local now, i = tonumber(ARGV[1]), 3
local verdicts, made, offered = {}, {}, 0
for key = 3, #KEYS, 2 do
  local game, id, n = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  local last_bundle = i + 5 + 2 * tonumber(ARGV[i + 5])
  local verdict = repeated_verdict(KEYS[2], game, id)
  if not verdict then
    local policy = {now = now, batch_size = tonumber(ARGV[i + 3]), max_len = ARGV[i + 4]}
    verdict = push_fast(KEYS[key], KEYS[key + 1], n, policy, i + 6, last_bundle)
    if verdict then
      made[#made + 1] = game
      made[#made + 1] = id .. ' ' .. verdict
      offered = offered + n
    end
  end
  verdicts[#verdicts + 1] = verdict or ''
  i = last_bundle + 1
end
if offered > 0 then
  redis.call('HINCRBY', KEYS[1], 'offered', offered)
  redis.call('HSET', KEYS[2], unpack(made))
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return verdicts
