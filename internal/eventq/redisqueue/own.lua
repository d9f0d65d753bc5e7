-- Makes a push of items that are not taken once, where it is usual. After
-- usual.lua; the pieces after this one make all others.
-- KEYS  as of fresh.lua
-- ARGV  as of fresh.lua
-- Returns the verdict of push.lua, where it is usual or was made before.

-- What the push was answered before, if it was.
local function told()
  if ARGV[14] == '' then
    return redis.call('GET', KEYS[6])
  end
  return answered(KEYS[6], ARGV[1], ARGV[14])
end

local function tell(verdict)
  if ARGV[14] == '' then
    redis.call('SET', KEYS[6], verdict, 'PX', ARGV[13])
    return
  end
  redis.call('HSET', KEYS[6], ARGV[1], ARGV[14] .. ' ' .. verdict)
  redis.call('PEXPIRE', KEYS[6], ARGV[13])
end

do
  local till = 15 + 2 * tonumber(ARGV[15])
  if till > 15 and till + 1 == #ARGV then
    local verdict = told()
    if verdict then
      return verdict
    end
    local terms = {now = tonumber(ARGV[2]), batch = tonumber(ARGV[3]), bound = ARGV[7]}
    verdict = usual(KEYS[1], KEYS[2], tonumber(ARGV[10]), terms, 16, till)
    if verdict then
      redis.call('HINCRBY', KEYS[4], 'offered', ARGV[10])
      tell(verdict)
      return verdict
    end
  end
end
