-- The state of a game's queue: the first part of the scripts that change it.
-- KEYS  1 due (zset), 2 queue (list), 3 game (hash), 4 taken (zset: 'BATCH COUNT' by the
--       end of the lease)
-- ARGV  1 now (ms), 2 game, 3 items of a full batch, 4 how long a smaller batch waits (ms),
--       5 ms per attempt (0: unlimited), 6 burst, 7 length limit. Returns nothing.
local now = tonumber(ARGV[1])

local function count(field, n)
  if n ~= 0 then redis.call('HINCRBY', KEYS[3], field, n) end
end

-- Reads a queue. Items that vanished with the list count as expired.
local function open()
  local f = redis.call('HMGET', KEYS[3], 'queued', 'paused', 'cool_until', 'flush_before', 'max_len', 'rate_at')
  local q = {length = tonumber(f[1] or 0), paused = f[2], cool_until = tonumber(f[3] or 0), flush_before = tonumber(f[4] or 0)}
  q.batch_size, q.flush_ms, q.max_len = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(f[5] or ARGV[7])
  q.interval, q.burst, q.rate_at = tonumber(ARGV[5]), tonumber(ARGV[6]), math.max(now, tonumber(f[6] or 0))
  if q.length > 0 and redis.call('EXISTS', KEYS[2]) == 0 then
    count('d:expired', q.length)
    redis.call('HSET', KEYS[3], 'queued', 0)
    q.length = 0
  end
  return q
end

-- Spends n attempts, each of which moves rate_at on by an interval. The next may begin
-- when rate_at is at most burst - 1 intervals ahead.
local function spend(q, n)
  if q.interval > 0 and n ~= 0 then
    q.rate_at = q.rate_at + n * q.interval
    redis.call('HSET', KEYS[3], 'rate_at', string.format('%.3f', q.rate_at))
  end
end

local function next_attempt(q)
  return math.max(now, q.cool_until, math.ceil(q.rate_at - (q.burst - 1) * q.interval - 0.01))
end

-- Stores when the game is due, at the latest when a lease ends. Returns when the next
-- batch can be taken, or 0.
local function mark(q)
  local due, lease = 0, tonumber(redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')[2])
  if q.length > 0 and not q.paused then
    due = next_attempt(q)
    local tried, oldest = string.match(redis.call('LINDEX', KEYS[2], 0), '^%d+([^\n]*)\n(%d+)')
    if q.length < q.batch_size and tried == '' and tonumber(oldest) > q.flush_before then
      due = math.max(due, math.min(oldest, now) + q.flush_ms) -- the oldest may come from a clock that was set back
    end
  elseif not lease then
    redis.call('ZREM', KEYS[1], ARGV[2])
    return 0
  end
  redis.call('ZADD', KEYS[1], due > 0 and math.min(due, lease or due) or lease, ARGV[2])
  return due
end
