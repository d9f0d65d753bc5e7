-- Makes a push by the fast path if that is possible. Runs after fast_path.lua; the
-- later parts make all other pushes.
-- KEYS  as in deduplicate.lua
-- ARGV  as in deduplicate.lua
-- Returns the verdict of push.lua, if it made the push or the push was made before.

-- Returns the verdict of an earlier run of the same push, or a false value.
local function read_verdict()
  if ARGV[14] == '' then
    return redis.call('GET', KEYS[6])
  end
  return repeated_verdict(KEYS[6], ARGV[1], ARGV[14])
end

local function store_verdict(verdict)
  if ARGV[14] == '' then
    redis.call('SET', KEYS[6], verdict, 'PX', ARGV[13])
    return
  end
  redis.call('HSET', KEYS[6], ARGV[1], ARGV[14] .. ' ' .. verdict)
  redis.call('PEXPIRE', KEYS[6], ARGV[13])
end

do
  local last_bundle = 15 + 2 * tonumber(ARGV[15])
  if last_bundle > 15 and last_bundle + 1 == #ARGV then
    local verdict = read_verdict()
    if verdict then
      return verdict
    end
    local policy = {now = tonumber(ARGV[2]), batch_size = tonumber(ARGV[3]), max_len = ARGV[7]}
    verdict = push_fast(KEYS[1], KEYS[2], tonumber(ARGV[10]), policy, 16, last_bundle)
    if verdict then
      redis.call('HINCRBY', KEYS[4], 'offered', ARGV[10])
      store_verdict(verdict)
      return verdict
    end
  end
end
