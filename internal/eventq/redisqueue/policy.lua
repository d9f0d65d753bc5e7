-- The rate and length limit of a game, and when its queue is due. Runs after
-- shift.lua.
-- KEYS  as in game.lua
-- ARGV  3 items of a full batch, 4 how long a smaller batch waits (ms), 5 attempts per
--       second, 0: unlimited, 6 burst, 7 length limit, 8 time to live of the list (ms)
-- Returns nothing. A token is a thousandth of an attempt, so that whole rates need
-- no fractions. tokens is valid at tokens_at, which never goes back.
local batch_size, flush_ms = tonumber(ARGV[3]), tonumber(ARGV[4])
local per_second, max_tokens = tonumber(ARGV[5]), 1000 * tonumber(ARGV[6])
local max_len = tonumber(game[7] or ARGV[7])
local tokens_at = math.max(now, tonumber(game[6] or 0))
local tokens = max_tokens
if game[5] then
  tokens = math.min(max_tokens, tonumber(game[5]) + (tokens_at - tonumber(game[6])) * per_second)
end

-- Returns when the next attempt may begin (ms).
local function next_attempt()
  local earliest = math.max(now, tonumber(game[3] or 0))
  if per_second == 0 or tokens >= 1000 then
    return earliest
  end
  return math.max(earliest, tokens_at + math.ceil((1000 - tokens) / per_second))
end

local function spend_tokens(n)
  if per_second > 0 then
    tokens = tokens - 1000 * n
    set_field('tokens', tokens)
    set_field('tokens_at', tokens_at)
  end
end

local max_dropped = 1000 -- items that one script drops, as Redis serves nothing else meanwhile

-- Returns how many of n items to drop because they are above the limit.
local function excess(n) return math.min(max_dropped, math.max(0, n - max_len)) end

local function shrink()
  if length > max_len then
    drop_oldest(excess(length), 'd:queue_full')
  end
end

-- Stores when the game is due, and returns it; 0: the game is not due.
local function mark_due()
  if length == 0 or game[2] then
    redis.call('ZREM', KEYS[3], ARGV[1])
    return 0
  end
  local due = next_attempt()
  if length < batch_size then
    local since = tonumber(string.match(read_oldest_header(), '%d+$'))
    if since > tonumber(game[4] or 0) then
      due = math.max(due, math.min(since, now) + flush_ms) -- since may come from a clock that was set back
    end
  end
  redis.call('ZADD', KEYS[3], due, ARGV[1])
  return due
end
