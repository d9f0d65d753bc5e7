-- A game's rate and bound, and when its queue is due. After shift.lua.
-- KEYS  as of game.lua
-- ARGV  3 items of a full batch, 4 how long one waits that is not full (ms),
--       5 tries a second, 0 for any number, 6 burst, 7 bound,
--       8 how long the list is kept (ms)
-- Returns nothing. Tokens are thousandths of a try, so that a whole rate reckons
-- exactly; they are as at tokens_at, which never goes back.
local batch, flush = tonumber(ARGV[3]), tonumber(ARGV[4])
local per_second, full = tonumber(ARGV[5]), 1000 * tonumber(ARGV[6])
local bound = tonumber(game[7] or ARGV[7])
local tokens_at = math.max(now, tonumber(game[6] or 0))
local tokens = full
if game[5] then
  tokens = math.min(full, tonumber(game[5]) + (tokens_at - tonumber(game[6])) * per_second)
end

-- When the next try may begin.
local function free()
  local at = math.max(now, tonumber(game[3] or 0))
  if per_second == 0 or tokens >= 1000 then
    return at
  end
  return math.max(at, tokens_at + math.ceil((1000 - tokens) / per_second))
end

local function spend(n)
  if per_second > 0 then
    tokens = tokens - 1000 * n
    write('tokens', tokens)
    write('tokens_at', tokens_at)
  end
end

local most = 1000 -- items that are dropped at once, as nobody else is served meanwhile

-- How many of n items are dropped, of those beyond the bound.
local function beyond(n) return math.min(most, math.max(0, n - bound)) end

local function shrink()
  if length > bound then
    drop_oldest(beyond(length), 'd:queue_full')
  end
end

-- Writes when the game is due, and gives it; 0: it is not.
local function mark()
  if length == 0 or game[2] then
    redis.call('ZREM', KEYS[3], ARGV[1])
    return 0
  end
  local due = free()
  if length < batch then
    local since = tonumber(string.match(oldest(), '%d+$'))
    if since > tonumber(game[4] or 0) then
      due = math.max(due, math.min(since, now) + flush) -- it may be of a clock that has gone back since
    end
  end
  redis.call('ZADD', KEYS[3], due, ARGV[1])
  return due
end
